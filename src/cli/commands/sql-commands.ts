import { spawnSync } from 'node:child_process'
import { type Command, Option } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { percentDecoded } from '../../base/text.ts'
import { runAnalystQuery } from '../../db/run-analyst-query.ts'
import { embedMissing } from '../../embedded/embed-missing.ts'
import { createContext, withApp } from '../context.ts'
import { type AnswerFormat, answerText } from '../text/sql-text.ts'

export function addSqlCommands(program: Command): void {
  program
    .command('sql <statement>')
    .description('ask the database one question, read only')
    .addOption(new Option('--csv', 'as CSV').conflicts('json'))
    .option('--json', 'one line of JSON a row')
    .addHelpText(
      'after',
      '\nExample:\n  farewatch sql "select count(*) from farewatch.routes_current"',
    )
    .action(async (statement: string, options: AnswerFormat) => {
      const context = createContext({ quiet: true })
      await withApp(context, { role: 'sql', sandbox: false }, async ({ database }) => {
        const answer = await runAnalystQuery(database, statement)
        process.stdout.write(answerText(answer, options))
      })
    })
  program
    .command('psql')
    .description('print the connection string, and open psql on it where there is one')
    .addHelpText('after', '\nExample:\n  farewatch psql')
    .action(openPsql)
}

async function openPsql(): Promise<void> {
  const { config, log, terminal } = createContext({ quiet: true })
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox: false })
  try {
    const url = embedded.config.DATABASE_URL
    terminal.out(url)
    if (process.stdin.isTTY !== true) return
    // The password goes by the environment: arguments are for everyone to read.
    const { password, ...address } = splitPassword(url)
    const { error } = spawnSync('psql', [address.url], {
      stdio: 'inherit',
      env: { ...process.env, ...(password === '' ? {} : { PGPASSWORD: password }) },
    })
    if (error !== undefined) terminal.step('psql is not installed: farewatch sql asks without it')
  } finally {
    await embedded.release()
  }
}

function splitPassword(url: string): { url: string; password: string } {
  const parsed = new URL(url)
  const password = percentDecoded(parsed.password)
  parsed.password = ''
  return { url: parsed.href, password }
}
