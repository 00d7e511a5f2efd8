import { API_OPERATIONS } from '../../app/api-operations.ts'
import { AppError, messageOf } from '../../platform/base/errors.ts'
import { asAnalyst } from '../../platform/db/analyst-session.ts'
import type { Database } from '../../platform/db/database.ts'
import { type Api, isOk, type Operation, type Send, textOf } from '../api-client.ts'

/** What a tool takes, as JSON Schema. */
interface Input {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, object>>
  readonly required: readonly string[]
  readonly additionalProperties: false
}

export type Given = Readonly<Record<string, string | number>>

/** Something that an assistant may ask. It changes nothing. */
export interface Tool {
  readonly name: string
  readonly description: string
  readonly input: Input
  /** Throws AppError. */
  run(given: Given): Promise<unknown>
}

export interface ToolDeps {
  readonly api: Api
  readonly send: Send
  /** With the login of an analyst; undefined if there is none. */
  readonly database: Database | undefined
}

const WATCH = 'GET /watch-lists/{list}/watches/{reference}'

/** The operations by the names of their tools. */
const READS: Readonly<Record<string, Operation>> = {
  status: 'GET /status',
  changes: 'GET /watch-changes',
  watch_lists: 'GET /watch-lists',
  watches: 'GET /watch-lists/{list}/watches',
  explain_watch: WATCH,
  fare_changes: 'GET /availability-changes',
  explain_change: 'GET /availability-changes/{seq}/resellers/{reseller}',
  fares: 'GET /fares',
  fare: 'GET /fares/{fareId}',
  route_changes: 'GET /route-changes',
  routes: 'GET /data/routes',
  route_history: 'GET /routes/{departureId}/{destinationId}/history',
}

/** All tools; that for questions in SQL only with a database. */
export function createTools({ api, send, database }: ToolDeps): Tool[] {
  const read = (operation: Operation, given: Given) => {
    const [params, { reseller, ...query }] = split(operation, given)
    return api.call(operation, { params, query, reseller: reseller as string | undefined })
  }
  const reads = Object.entries(READS).map(([name, operation]) => ({
    ...readOf(name, operation),
    run: (given: Given) => read(operation, given),
  }))
  const explain = async (given: Given) => {
    const [watch, timeline, prices] = await Promise.all([
      read(WATCH, given),
      read(`${WATCH}/timeline`, given),
      read(`${WATCH}/prices`, given),
    ])
    return { watch, timeline, prices }
  }
  const tools = reads.map((tool) =>
    tool.name === 'explain_watch' ? { ...tool, run: explain } : tool,
  )
  const questions = database === undefined ? [] : [questionTool(database)]
  return [...tools, docsTool(send), ...questions]
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, object>>
  readonly required?: readonly string[]
}

const RESELLER = text('The name of the reseller; needed with the key of an operator.')

/** A tool as the operation describes itself. */
function readOf(name: string, operation: Operation): Omit<Tool, 'run'> {
  const found = API_OPERATIONS.find((one) => nameOf(one) === operation)
  const { summary = '', audience, params, query } = found ?? {}
  const schemas = [params, query].map((schema): ObjectSchema => schema ?? {})
  const own = Object.assign({}, ...schemas.map(({ properties }) => properties))
  const required = schemas
    .flatMap((schema) => schema.required ?? [])
    .filter((key) => !('default' in own[key]))
  const properties = { ...own, ...(audience === 'resellers' && { reseller: RESELLER }) }
  const about = audience === 'operators' ? `${summary}; for operators` : summary
  return { name, description: about, input: inputOf(properties, required) }
}

function nameOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.replace('/api/v1', '')}`
}

function inputOf(properties: Input['properties'], required: readonly string[]): Input {
  // Without what is no JSON of the schemas.
  return JSON.parse(
    JSON.stringify({ type: 'object', properties, required, additionalProperties: false }),
  )
}

function text(description: string) {
  return { type: 'string', description }
}

function docsTool(send: Send): Tool {
  return {
    name: 'docs',
    description: 'The documentation as Markdown; without a page, the list of pages',
    input: inputOf({ page: text('A page of the list, such as resellers or dictionary.') }, []),
    run: async ({ page }) => {
      const isWord = /^[\w-]+$/.test(String(page ?? 'list'))
      const path = page === undefined ? '/llms.txt' : `/docs/${page}.md`
      const reply = isWord ? await send(path, {}) : undefined
      if (reply !== undefined && isOk(reply)) return textOf(reply)
      throw new ToolError(`there is no page "${page}"`)
    },
  }
}

/** The values that the path names, and the others. */
function split(operation: string, given: Given): [Given, Given] {
  const entries = Object.groupBy(Object.entries(given), ([name]) =>
    operation.includes(`{${name}}`) ? 'path' : 'query',
  )
  return [Object.fromEntries(entries.path ?? []), Object.fromEntries(entries.query ?? [])]
}

const MOST_ROWS = 200

/** Only a SELECT can be read from, and the login may read the public SQL alone. */
function questionTool(database: Database): Tool {
  return {
    name: 'query',
    description:
      `Answer a question by one SELECT on the public SQL (schema farewatch, PostgreSQL 18), with ${MOST_ROWS} rows at most. ` +
      'The page "dictionary" of docs has its views and columns, and "analysts" examples',
    input: inputOf({ sql: text('One SELECT statement.') }, ['sql']),
    run: ({ sql = '' }) =>
      asAnalyst(database, async ({ query }) => {
        const statement = String(sql).trim().replace(/;$/, '')
        const { rows } = await query(
          `select to_jsonb(q) from (\n${statement}\n) q limit ${MOST_ROWS}`,
        )
        // As PostgreSQL writes it: a price that were parsed would be a float.
        return `{"rows":[${rows.join()}],"mayHaveMore":${rows.length === MOST_ROWS}}`
      }),
  }
}

/** The assistant gave something that no tool takes. */
class ToolError extends AppError {
  override readonly name = 'ToolError'
  override readonly code = 'mcp.unknown'
}

const MOST_CHARS = 100_000

/** What an assistant reads: an answer as JSON or Markdown, or the failure. A longer one would fill its memory. */
export async function runTool(
  { run }: Tool,
  given: Given,
): Promise<{ content: { type: 'text'; text: string }[]; isError?: true }> {
  const textOf = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  try {
    const answer = await run(given)
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    if (text.length <= MOST_CHARS) return textOf(text)
    return textOf(`${text.slice(0, MOST_CHARS)}\n[cut at ${MOST_CHARS} characters: ask for less]`)
  } catch (err) {
    if (!(err instanceof AppError)) throw err
    return { ...textOf(`${err.code}: ${messageOf(err)}`), isError: true }
  }
}
