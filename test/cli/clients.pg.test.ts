import http from 'node:http'
import path from 'node:path'
import type { Command } from 'commander'
import { Value } from 'typebox/value'
import { describe, expect, onTestFinished, it as test } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { EXIT } from '../../src/cli/exit-codes.ts'
import { createProgram } from '../../src/cli/program.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { trackFares } from '../schedule/schedule-fixtures.ts'
import { newKeyText, startApi } from '../support/api-server.ts'
import { listenLocally } from '../support/local-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { fileOf } from '../watches/watch-fixtures.ts'

/** Commands that work without the API, or need none. */
const WITHOUT_API =
  /^(up|worker|api|config|migrate|restored|status|doctor|sync|runs diff|upstream|keys link|endpoints reseal|receive|sql|psql|export|rollup|history|analysts|mcp|openapi|sandbox|demo|completion)( |$)|--database/
/** The file of examples. */
const SUMMER =
  'list,reference,flight_id,residents_adults,non_residents_adults\nsummer,A-1,101,1,0\n'
const ID = '00000000-0000-7000-8000-00000000e001'

/** The command lines of all examples. */
function examplesOf(command: Command): string[] {
  const parts: string[] = []
  command.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp()
  const help = parts.join('')
  const own = [...help.slice(help.lastIndexOf('\nExample')).matchAll(/bin\/farewatch (.*)/g)]
  return [...own.map(([, line = '']) => line), ...command.commands.flatMap(examplesOf)]
}

function wordsOf(line: string): string[] {
  const [given = ''] = line.replaceAll(/\bID\b/g, ID).split(' > ')
  return [...given.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain)
}

const program = await createProgram()

const examples = program.commands.flatMap(examplesOf).filter((line) => line !== '')

describe('a command', () => {
  test.each(examples.filter((line) => !WITHOUT_API.test(line)))(
    'says where no API answers, and what to do: %s',
    async (line) => {
      const env = {
        FAREWATCH_URL: `http://127.0.0.1:${await freePort()}`,
        FAREWATCH_KEY: 'fwk_0123456789',
      }
      const yes = /\b(delete|drop)\b/.test(line) ? ['--yes'] : []
      const file = await fileOf('summer.csv', SUMMER)

      const { exit, stdout, stderr } = await runCommand(
        [...wordsOf(line), ...yes],
        env,
        path.dirname(file),
      )

      expect({ exit, stdout }).toEqual({ exit: EXIT.failed, stdout: '' })
      expect(stderr).toMatch(/^farewatch: no API answers at http.*"npm start".*--database/)
    },
  )

  test.each(examples)('is wrong use with an option that it does not have: %s', async (line) => {
    const { exit, stdout, stderr } = await runCommand([...wordsOf(line), '--nonsense'], {})

    expect({ exit, stdout }).toEqual({ exit: EXIT.usage, stdout: '' })
    expect(stderr).toMatch(/unknown option|too many|--nonsense/)
  })
})

test.each(['<html>Bad Gateway</html>', '{"error": "no route"}'])(
  'names the server that answers as no farewatch does: %s',
  async (body) => {
    const server = http.createServer((_request, response) => response.writeHead(502).end(body))
    const { url, close } = await listenLocally(server)
    onTestFinished(close)
    const env = { FAREWATCH_URL: url, FAREWATCH_KEY: 'fwk_0123456789abcdef' }
    expect(await runCommand(['resellers', 'list'], env)).toMatchObject({
      exit: EXIT.failed,
      stderr: `farewatch: ${url} answers with 502, and not as farewatch does: is FAREWATCH_URL its address?\n`,
    })
  },
)

it.for([
  ['sync --list fares', 'routes, with-availability, all'],
  ['routes export --as-of yesterday', '2026-01-31'],
  ['runs list --limit 0', 'from 1 to 10000'],
  ['fly', 'unknown command'],
  ['watch-lists add PMI-OSL --reseller a --residents-adults 2', 'neither passengers nor a return'],
  ['jobs retry verify', 'their ids, or --all'],
  ['jobs drop verify 17 --all', 'their ids, or --all'],
  ['jobs drop nothing --all', 'Allowed choices are route-sync, verify'],
  ['jobs list --state lost', 'dead, active, waiting, delayed, done'],
  ['worker --roles sync,nothing', 'some of sync, check, deliver'],
  ['worker --roles api', 'some of sync, check, deliver'],
  ['budget plan --fares 9 --delay 30s', 'MIN_INTERVAL_SECONDS is'],
  ['budget plan --fares 9 --delay 5', 'such as 90s or 5m'],
] as const)('explains the usage error of %s', async ([line, output], { databaseUrl }) => {
  const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
  const { exit, stdout, stderr } = await runCommand(line.split(' '), env)
  expect([exit, stdout]).toEqual([EXIT.usage, ''])
  expect(stderr).toContain(output)
})

it('a client of the API calls the API of the settings, for a reseller too, and prints its answer', async ({
  db,
}) => {
  const env = { FAREWATCH_URL: await startApi(db), FAREWATCH_KEY: await newKeyText(db) }
  const farewatch = (line: string) => runCommand(line.split(' '), env)

  await farewatch('resellers create Reisebüro')
  const added = await farewatch('watch-lists add 101 --reseller Reisebüro --json')
  const listed = await farewatch('resellers list --json')
  const csv = await farewatch('resellers list -o csv')
  const table = await farewatch('resellers list')
  const actions = await farewatch('audit list --json')
  const unknown = await farewatch('endpoints list --reseller unknown')

  const operation = API_OPERATIONS.find(({ id }) => id === 'listResellers')
  const page = { items: [JSON.parse(listed.stdout)], next: null }
  expect(Value.Errors(operation?.answer.schema ?? {}, page)).toEqual([])
  expect(page.items).toMatchObject([{ name: 'Reisebüro', lists: 1, watches: 1 }])
  expect(JSON.parse(added.stdout)).toMatchObject({ added: 1, watches: [{ reference: '101' }] })
  expect(csv.stdout).toMatch(/^id,name,createdAt,.*\n1,Reisebüro,20.*\n$/)
  expect(table.stdout).toMatch(/^reseller +share +created, UTC +disabled +lists/)
  expect(JSON.parse(actions.stdout)).toMatchObject({ by: 'key 1', action: 'reseller created' })
  expect(unknown).toMatchObject({ exit: EXIT.failed, stdout: '' })
  expect(unknown.stderr).toContain('no reseller named "unknown"')
})

it('a command whose request follows from its words lists the watch lists of a reseller, and of incidents the open ones alone', async ({
  db,
  databaseUrl,
}) => {
  const run = (line: string) => runCommand(line.split(' '), { DATABASE_URL: databaseUrl })
  await run('resellers create northwind')
  await run('watch-lists add PMI=OSL --reseller northwind')
  await sql`insert into incident (kind, closed_at) values ('mass_loss', now()), ('mass_expiry', null)`.execute(
    db,
  )

  const lists = await run('watch-lists list --reseller northwind --json')
  const open = await run('incidents list --open --json')

  expect(JSON.parse(lists.stdout)).toMatchObject({ name: 'watches', watches: 1, paused: 0 })
  expect(JSON.parse(open.stdout)).toMatchObject({ kind: 'mass_expiry' })
})

test.each([
  [{}, 20],
  [{ UPSTREAM_BASE_URL: 'https://fares.example' }, 60],
])('farewatch config prints the settings of the demo where it runs: %j', async (env, seconds) => {
  const { stdout } = await runCommand(['config', '--json'], env)
  expect(JSON.parse(stdout)).toMatchObject({ MIN_INTERVAL_SECONDS: seconds })
})

/** Fares as their checks leave them: alike, each with one change a day. */
async function trackChecked(db: Db, count: number): Promise<void> {
  await trackFares(
    db,
    Array.from({ length: count }, () => ({})),
  )
  await sql`update fare_schedule set rate = ${5 / count}, changes_per_day = 1`.execute(db)
}

it('budget plan prints the budget for a delay, and what the present fares get and need', async ({
  db,
  databaseUrl,
}) => {
  await trackChecked(db, 600)
  const args = ['budget', 'plan', '--fares', '20000', '--delay', '5m']
  const { exit, stdout, stderr } = await runCommand(args, { DATABASE_URL: databaseUrl })
  expect(exit, stderr).toBe(0)
  expect(stdout.split('\n')).toEqual([
    '20,000 fares, 95 % of the changes detected within 5 min, half within 2 min 38 s:',
    '  a check of each fare every 5 min 16 s: 63.34 requests a second',
    '  with room for confirmations, first checks, retries and questions on demand: at most 105.56',
    'The 600 fares of the database, by their turns, at 5 requests a second:',
    '  95 % of the changes detected within 1 min 54 s, half within 1 min',
    '  for 95 % within 5 min they need 1.9',
    '',
  ])
})
