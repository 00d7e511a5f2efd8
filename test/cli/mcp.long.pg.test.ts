import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, inject, onTestFinished } from 'vitest'
import { createAnalyst } from '../../src/platform/db/analyst-logins.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { type Seed, seedApi } from '../api/seed.ts'
import { startApi } from '../support/api-server.ts'
import { runFarewatch } from '../support/child-process.ts'
import { adminQuery } from '../support/postgres-server.ts'
import { it } from '../support/test-database.ts'

const FAREWATCH = path.resolve(import.meta.dirname, '../../bin/farewatch')

type Answer = { readonly text: string; readonly isError: boolean }
type Ask = (tool: string, given?: Record<string, unknown>) => Promise<Answer>

/** Connects the client of the SDK to a server that it starts. */
async function connect(env: Record<string, string>): Promise<{ client: Client; ask: Ask }> {
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  const transport = new StdioClientTransport({
    command: FAREWATCH,
    args: ['mcp'],
    env: { PATH: process.env.PATH ?? '', ...env },
    stderr: 'ignore',
  })
  await client.connect(transport)
  const ask: Ask = async (name, given = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: given })
    const [part] = content as { text: string }[]
    return { text: part?.text ?? '', isError: isError === true }
  }
  return { client, ask }
}

/** The URL of the database with a login of an analyst, which is dropped after the test. */
async function analystUrl(db: Db, databaseUrl: string): Promise<string> {
  const url = new URL(databaseUrl)
  const name = `mara_${randomUUID().replaceAll('-', '')}`
  url.password = await createAnalyst(db, name)
  url.username = name
  onTestFinished(() => adminQuery(inject('postgresUrl'), `drop role ${name}`))
  return url.href
}

const alpha = { reseller: 'alpha' }
const WATCH = { ...alpha, list: 'summer', reference: 'A-1' }

/** Twenty questions about the data of `seedApi`: the tool, what it is given, and what must be in the answer. */
const QUESTIONS: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  ['status', {}, /"heldRuns":\[\{"runId":4,"list":"routes"/],
  ['watch_lists', alpha, /"summer"/],
  ['watch_lists', { reseller: 'beta' }, /"winter"/],
  ['watches', { ...alpha, list: 'summer' }, /"A-1"/],
  ['watches', { ...alpha, list: 'summer', state: ['not_bookable'] }, /"items":\[\]/],
  ['explain_watch', WATCH, /"state":"bookable"/],
  ['changes', alpha, /"seq":1,.*"watch_started"/],
  ['changes', { ...alpha, after: 1 }, /"items":\[\]/],
  ['route_changes', {}, /^\{"items":\[\{"seq":1,[^}]*"kind":"route_added","departureId":"PMI"/],
  ['route_changes', { kinds: ['route_removed'] }, /"items":\[\]/],
  ['routes', { departure: 'PMI' }, /BCN.*IBZ.*MAD/],
  ['routes', { asOf: '2020-01-01T00:00:00Z' }, /^not_found: no list had been accepted/],
  ['route_history', { departureId: 'PMI', destinationId: 'IBZ' }, /"since":"20.*"validTo":null/],
  ['fares', { flightId: '101' }, /"items":\[\{"fareId":1,"watchers":2,/],
  ['fare_changes', {}, /"items":\[\{"seq":1,.*"kind":"first_seen"/],
  ['docs', { page: 'webhooks' }, /webhook-signature/],
  ['docs', {}, /\/docs\/dictionary\.md/],
  [
    'query',
    { sql: "select count(*) as n from farewatch.routes_current where departure_iata = 'PMI'" },
    /^\{"rows":\[\{"n": 3\}\],"mayHaveMore":false\}$/,
  ],
  ['query', { sql: 'select city from farewatch.places order by city; ' }, /Barcelona.*Madrid/],
  [
    'query',
    {
      sql: 'with open as (table farewatch.routes_current) select count(*) from open where available',
    },
    /"count": 1/,
  ],
]

describe('an assistant', () => {
  it('answers twenty questions with what is known, and may change nothing', async ({
    db,
    databaseUrl,
  }) => {
    const { keys } = await seedApi(db)
    const { client, ask } = await connect({
      ...(await envOf(db, keys)),
      DATABASE_URL: await analystUrl(db, databaseUrl),
    })
    const { tools } = await client.listTools()

    expect(QUESTIONS).toHaveLength(20)
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([])
    const answers = QUESTIONS.map(async ([tool, given, known]) => {
      const { text } = await ask(tool, given)
      return known.test(text) ? [] : [`${tool} ${text}`]
    })
    expect((await Promise.all(answers)).flat()).toEqual([])

    const forbidden = [
      'select text from farewatch_private.api_key',
      'delete from farewatch.routes_current',
      'select 1; select 2',
      "select pg_read_file('/etc/passwd')",
      "copy (select 1) to program 'true'",
    ]
    for (const statement of forbidden) {
      expect(await ask('query', { sql: statement }), statement).toMatchObject({ isError: true })
    }
    expect(await ask('docs', { page: '../package' })).toMatchObject({ isError: true })
    const { text } = await ask('query', { sql: 'select generate_series(1, 1000) as n' })
    expect(JSON.parse(text)).toMatchObject({ mayHaveMore: true, rows: { length: 200 } })
  })

  it('with the key of a reseller sees that reseller alone, and without an analyst asks no SQL', async ({
    db,
    databaseUrl,
  }) => {
    const { keys } = await seedApi(db)
    const env = await envOf(db, { operator: keys.beta })
    const { client, ask } = await connect(env)
    const { tools } = await client.listTools()

    expect((await ask('watch_lists')).text).toMatch(/"winter"/)
    expect((await ask('watch_lists')).text).not.toMatch(/"summer"/)
    expect((await ask('watch_lists', alpha)).text).not.toMatch(/"summer"/)
    expect(await ask('fare_changes')).toMatchObject({ isError: true })
    expect(tools.map(({ name }) => name)).not.toContain('query')

    const owner = await runFarewatch(['mcp'], { ...env, DATABASE_URL: databaseUrl })
    expect(owner).toMatchObject({ exit: 2, stdout: '' })
    expect(owner.stderr).toContain('the login of an analyst')
  })
})

async function envOf(db: Db, { operator }: Pick<Seed['keys'], 'operator'>) {
  return { FAREWATCH_URL: await startApi(db), FAREWATCH_KEY: operator }
}
