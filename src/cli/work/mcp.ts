import { once } from 'node:events'
import packageJson from '../../../package.json' with { type: 'json' }
import { hasAnalystLogin } from '../../platform/db/analyst-logins.ts'
import { type Database, openDatabase } from '../../platform/db/database.ts'
import { createApi, openRunningApi } from '../api-client.ts'
import { type CliContext, createContext } from '../context.ts'
import { UsageError, untilInterrupted } from '../exit-codes.ts'
import { createTools, type Given, runTool, type Tool } from './mcp-tools.ts'

const PACKAGE = '@modelcontextprotocol/server'

/** Serves the Model Context Protocol on standard input and output until the input ends. */
export async function serveMcp(): Promise<void> {
  const context = createContext({ quiet: true })
  const send = await openRunningApi()
  const database = await openForQuestions(context)
  try {
    const tools = createTools({ api: createApi(send), send, database })
    const close = await serve(tools)
    await untilInterrupted(once(process.stdin, 'end'), context.signal)
    await close()
  } finally {
    await database?.close()
  }
}

/**
 * The database of DATABASE_URL. An assistant may follow instructions that it reads in data: questions are run with
 * a login alone that may read nothing but the public SQL.
 */
async function openForQuestions({ config, log }: CliContext): Promise<Database | undefined> {
  const { DATABASE_URL: url } = config
  if (url === undefined) return undefined
  const database = openDatabase({ url, applicationName: 'farewatch mcp', log, maxConnections: 2 })
  if (await hasAnalystLogin(database.db)) return database
  await database.close()
  throw new UsageError(
    'DATABASE_URL must have the login of an analyst here: "bin/farewatch analysts create NAME" makes one; without it there is no tool "query"',
  )
}

async function serve(tools: readonly Tool[]): Promise<() => Promise<void>> {
  const [{ fromJsonSchema, McpServer }, { serveStdio }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('@modelcontextprotocol/server/stdio'),
  ]).catch((cause: unknown) => {
    throw new UsageError(`this command needs a package: npm install --no-save ${PACKAGE}`, {
      cause,
    })
  })
  const { close } = serveStdio(() => {
    const server = new McpServer({ name: 'farewatch', version: packageJson.version })
    for (const tool of tools) {
      const { name, description, input } = tool
      const inputSchema = fromJsonSchema<Given>(input)
      const annotations = { readOnlyHint: true }
      server.registerTool(name, { description, inputSchema, annotations }, (given) =>
        runTool(tool, given),
      )
    }
    return server
  })
  return close
}
