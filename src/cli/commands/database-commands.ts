import { spawnSync } from 'node:child_process'
import { type Command, Option } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { migrateApp, openApp } from '../../app/app.ts'
import { systemClock } from '../../base/clock.ts'
import { percentDecoded } from '../../base/text.ts'
import { type ColumnKind, type QueryResult, runAnalystQuery } from '../../db/run-analyst-query.ts'
import { embedMissing } from '../../embedded/embed-missing.ts'
import { createContext, withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { countOf, table } from '../text/text-format.ts'

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database up to this version')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… bin/farewatch migrate')
    .action(async ({ json }: { json?: boolean }) => {
      const { config, log, terminal } = createContext({ quiet: true })
      const embedded = await embedMissing(config, { log, clock: systemClock, sandbox: false })
      const app = openApp({ config: embedded.config, log, clock: systemClock, role: 'migrate' })
      try {
        const applied = await migrateApp(app)
        if (json === true) return terminal.out(JSON.stringify({ applied }))
        const names = applied.map((name) => `\n  ${name}`).join('')
        terminal.out(`${countOf(applied.length, 'migration')} applied${names}`)
      } finally {
        await app.close()
        await embedded.release()
      }
    })
}

export function addSqlCommands(program: Command): void {
  program
    .command('sql <statement>')
    .description('ask the database one question, read only')
    .addOption(new Option('--csv', 'as CSV').conflicts('json'))
    .option('--json', 'one line of JSON a row')
    .addHelpText(
      'after',
      '\nExample:\n  bin/farewatch sql "select count(*) from farewatch.routes_current"',
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
    .addHelpText('after', '\nExample:\n  bin/farewatch psql')
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
    if (error !== undefined)
      terminal.step('psql is not installed: bin/farewatch sql asks without it')
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

/** A table for people, unless told. */
export interface AnswerFormat {
  readonly csv?: boolean
  readonly json?: boolean
}

/** The answer of `bin/farewatch sql`, to the end of its last line. Throws UsageError where JSON would lose a column. */
export function answerText({ columns, rows }: QueryResult, { csv, json }: AnswerFormat): string {
  const names = columns.map(({ name }) => name)
  if (csv === true) return stringify([names, ...rows])
  if (json !== true) return `${table(names, rows)}\n`
  refuseTwice(names)
  const kinds = columns.map(({ name, kind }) => ({ key: JSON.stringify(name), kind }))
  return rows
    .map(
      (row) => `{${kinds.map(({ key, kind }, i) => `${key}:${jsonText(kind, row[i] ?? null)}`)}}\n`,
    )
    .join('')
}

/** Of two values under one key a reader of JSON keeps one, and says nothing. */
function refuseTwice(names: readonly string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice === undefined) return
  throw new UsageError(
    `two columns are named "${twice}": with --json each needs a name of its own (as …)`,
  )
}

/**
 * One value as JSON: exactly what Postgres wrote, or a string of it where JSON's readers would not keep it, as of
 * `int8` beyond 2^53 and NaN.
 * @example jsonText('number', '9007199254740993') // '"9007199254740993"'
 */
function jsonText(kind: ColumnKind, value: string | null): string {
  if (value === null) return 'null'
  if (kind === 'boolean') return value === 't' ? 'true' : 'false'
  // Not parsed: its numbers may be longer than ours. Line ends can only stand between its tokens.
  if (kind === 'json') return value.replace(/[\r\n]/g, ' ')
  const number = Number(value)
  const kept = /^-?\d+$/.test(value) ? Number.isSafeInteger(number) : Number.isFinite(number)
  return kind === 'number' && kept ? value : JSON.stringify(value)
}
