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

interface Question {
  readonly question: string
  readonly tool: string
  readonly given?: Record<string, unknown>
  readonly known: RegExp
}

const alpha = { reseller: 'alpha' }
const WATCH = { ...alpha, list: 'summer', reference: 'A-1' }

/** Twenty questions about the data of `seedApi`, with what must be in the answer. */
const QUESTIONS: readonly Question[] = [
  {
    question: 'Is a list held?',
    tool: 'status',
    known: /"heldRuns":\[\{"runId":4,"list":"routes"/,
  },
  { question: 'Which lists has alpha?', tool: 'watch_lists', given: alpha, known: /"summer"/ },
  {
    question: 'Which lists has beta?',
    tool: 'watch_lists',
    given: { reseller: 'beta' },
    known: /"winter"/,
  },
  {
    question: 'What does alpha watch?',
    tool: 'watches',
    given: { ...alpha, list: 'summer' },
    known: /"A-1"/,
  },
  {
    question: 'Which of them are sold out?',
    tool: 'watches',
    given: { ...alpha, list: 'summer', state: ['not_bookable'] },
    known: /"items":\[\]/,
  },
  {
    question: 'Can A-1 be booked?',
    tool: 'explain_watch',
    given: WATCH,
    known: /"state":"bookable"/,
  },
  {
    question: 'What happened to the watches of alpha?',
    tool: 'changes',
    given: alpha,
    known: /"seq":1,.*"watch_started"/,
  },
  {
    question: 'What happened after that?',
    tool: 'changes',
    given: { ...alpha, after: 1 },
    known: /"items":\[\]/,
  },
  {
    question: 'What did the routes do?',
    tool: 'route_changes',
    known:
      /^\{"items":\[\{"seq":1,[^}]*"kind":"route_added","departureId":"PMI","destinationId":"IBZ"/,
  },
  {
    question: 'Which routes were removed?',
    tool: 'route_changes',
    given: { kinds: ['route_removed'] },
    known: /"items":\[\]/,
  },
  {
    question: 'Where can one fly from Palma?',
    tool: 'routes',
    given: { departure: 'PMI' },
    known: /BCN.*IBZ.*MAD/,
  },
  {
    question: 'Where could one fly in 2020?',
    tool: 'routes',
    given: { asOf: '2020-01-01T00:00:00Z' },
    known: /^not_found: no list had been accepted/,
  },
  {
    question: 'Since when is there Palma to Ibiza?',
    tool: 'route_history',
    given: { departureId: 'PMI', destinationId: 'IBZ' },
    known: /"since":"20.*"of":"existence".*"validTo":null/,
  },
  {
    question: 'Which fare is that of flight 101?',
    tool: 'fares',
    given: { flightId: '101' },
    known: /"items":\[\{"fareId":1,"watchers":2,/,
  },
  {
    question: 'What changed of all fares?',
    tool: 'fare_changes',
    known: /"items":\[\{"seq":1,.*"kind":"first_seen"/,
  },
  {
    question: 'How do I verify a webhook?',
    tool: 'docs',
    given: { page: 'webhooks' },
    known: /webhook-signature/,
  },
  { question: 'What is documented?', tool: 'docs', known: /\/docs\/dictionary\.md/ },
  {
    question: 'How many routes leave Palma?',
    tool: 'query',
    given: {
      sql: "select count(*) as routes from farewatch.routes_current where departure_iata = 'PMI'",
    },
    known: /^\{"rows":\[\{"routes": 3\}\],"mayHaveMore":false\}$/,
  },
  {
    question: 'Which cities are there?',
    tool: 'query',
    given: { sql: 'select city from farewatch.places order by city; ' },
    known: /Barcelona.*Ibiza.*Madrid.*Palma de Mallorca/,
  },
  {
    question: 'How many routes were available?',
    tool: 'query',
    given: {
      sql: 'with open as (select * from farewatch.routes_current where available) select count(*) from open',
    },
    known: /"count": 1/,
  },
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
    const answers = QUESTIONS.map(async ({ question, tool, given, known }) => {
      const { text } = await ask(tool, given)
      return known.test(text) ? [] : [`${question} ${text}`]
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
