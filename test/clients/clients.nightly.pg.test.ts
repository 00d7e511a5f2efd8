import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { beforeAll, describe, expect, onTestFinished } from 'vitest'
import { createDispatcher } from '../../src/delivery/dispatch/dispatcher.ts'
import { replayRange } from '../../src/delivery/endpoints/replay-deliveries.ts'
import { createOpenTarget } from '../../src/delivery/endpoints/sealer.ts'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { createWebhookFormat, signedHeaders } from '../../src/delivery/formats/webhook.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { fareOf, listWith, newCaller, type ResellerCalls, watch } from '../api/reseller-calls.ts'
import { fanOutAll } from '../delivery/delivery-fixtures.ts'
import { available, gone, passSeconds, record } from '../fares/fare-fixtures.ts'
import { openApi, startApi, TEST_SEALER } from '../support/api-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const ROOT = path.join(import.meta.dirname, '../..')
const CLIENT = path.join(ROOT, 'clients/typescript')

function run(command: string, ...args: string[]) {
  return runIn(CLIENT, command, ...args)
}

function runIn(cwd: string, command: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

/** The Node of the machine, which users of the client may have, and not the one of this project's dependencies. */
function machineNode(): string {
  const folders = (process.env.PATH ?? '').split(':').filter((one) => !one.includes('node_modules'))
  const found = folders.map((one) => path.join(one, 'node')).find((file) => existsSync(file))
  return found ?? process.execPath
}

const OK = expect.objectContaining({ status: 0 }) as object

const PYTHON = path.join(ROOT, 'clients/python')

/** The examples that follow a feed and receive webhooks, in each language. */
const EXAMPLES = {
  TypeScript: {
    cwd: CLIENT,
    follow: [process.execPath, 'examples/follow-stream.ts'],
    receive: [process.execPath, 'examples/receive-webhooks.ts'],
  },
  Python: {
    cwd: PYTHON,
    follow: ['python3', 'follow_feed.py'],
    receive: ['python3', 'receive_webhooks.py'],
  },
}
const LANGUAGES = (Object.keys(EXAMPLES) as (keyof typeof EXAMPLES)[]).filter(
  (language) => language !== 'Python' || spawnSync('python3', ['--version']).error === undefined,
)

interface Surroundings {
  readonly cwd: string
  readonly env?: Record<string, string>
}

/** Runs a program in a process of its own, which ends with the test. */
function startProgram([command = '', ...args]: readonly string[], { cwd, env }: Surroundings) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve))
  const lines = () => text.split('\n').filter((line) => line !== '')
  return {
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
    ended,
    lines,
    lineWith: (part: string) =>
      until(`a line with "${part}" in\n${text}`, () => lines().find((line) => line.includes(part))),
  }
}

function serverOf(base: string, { key }: ResellerCalls) {
  return { FAREWATCH_URL: base, FAREWATCH_KEY: key }
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-client-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`

/** Webhooks with what the client makes of them: the type of the event, or the name of the error. */
function webhookCases() {
  const type = 'webhook.test'
  const body = JSON.stringify({ type, data: { city: 'Málaga' } })
  const now = new Date()
  const secrets = [secretOf(1), secretOf(2)]
  const headers = signedHeaders('id-1', body, { secrets, now })
  const old = signedHeaders('id-1', body, { secrets, now: new Date(now.getTime() - 600_000) })
  const { 'webhook-id': _id, ...withoutId } = headers
  return [
    { headers, body, secret: secretOf(1), outcome: type },
    { headers, body, secret: [secretOf(3), secretOf(2)], outcome: type },
    { headers, body, secret: secretOf(3), outcome: 'WebhookError' },
    { headers, body, secret: [], outcome: 'TypeError' },
    { headers, body, secret: '', outcome: 'TypeError' },
    { headers, body: `${body} `, secret: secretOf(1), outcome: 'WebhookError' },
    { headers: old, body, secret: secretOf(1), outcome: 'WebhookError' },
    { headers: withoutId, body, secret: secretOf(1), outcome: 'WebhookError' },
    {
      headers: { ...headers, 'webhook-timestamp': 'NaN' },
      body,
      secret: secretOf(1),
      outcome: 'WebhookError',
    },
  ]
}

/** A program that compiles with the package's types alone. */
const TYPED = `
import {
  createFarewatch,
  dataOf,
  type Digest,
  type RouteChange,
  verifyWebhook,
  type WebhookEvent,
} from 'farewatch-client'

export async function states(): Promise<string[]> {
  const farewatch = createFarewatch({ baseUrl: 'https://farewatch.example', key: 'fwk_' })
  const { watches } = await dataOf(farewatch.GET('/api/v1/watch-state'))
  // @ts-expect-error there is no such operation
  await farewatch.GET('/api/v1/nothing')
  return watches.map(({ reference, belief }) => reference + belief.state)
}

export function priceAfter(event: WebhookEvent): string | null | undefined {
  return event.type === 'fare.price_changed' ? event.data.after.price?.amount : undefined
}

export const hourOf = (digest: Digest) => (digest.type === 'daily' ? digest.hour : undefined)
export const cityBefore = ({ before }: RouteChange) =>
  before?.type === 'place' ? before.city : undefined

export const verified = (body: Buffer) =>
  verifyWebhook({ headers: { 'webhook-id': 'x' }, body }, { secret: ['whsec_'] }).event.type
`

const NETWORKS = ['127.0.0.0/8']

/** The delivery of a worker. */
function startDelivery(db: Db) {
  const transport = createTransport({
    policy: { allowHttp: true, allowedNetworks: NETWORKS },
    scrub: (text) => text,
  })
  const dispatcher = createDispatcher({
    db,
    formats: [createWebhookFormat({ transport })],
    openTarget: createOpenTarget(TEST_SEALER),
    onRecorded: () => undefined,
    random: Math.random,
    log: silentLog,
  })
  onTestFinished(async () => {
    await dispatcher.close(1_000)
    await transport.close()
  })
  return dispatcher
}

/** Waits until the results of this many requests are recorded. */
async function recorded(db: Db, requests: number): Promise<void> {
  await until(`the results of ${requests} requests`, async () => {
    const attempts = await db.selectFrom('delivery_attempt').select('outcome').execute()
    return attempts.length === requests
  })
}

beforeAll(() => {
  expect(run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')).toEqual(OK)
})

describe('the TypeScript client', () => {
  it('the types are made from the document, and everything compiles with TypeScript 5 and 7', () => {
    expect(run('npm', 'run', '-s', 'check')).toEqual(OK)
    expect(run('npx', 'tsc', '--version').output).toContain('Version 5.')

    const newest = path.join(ROOT, 'node_modules/.bin/tsc')
    expect(run(newest, '--version').output).toContain('Version 7.')
    expect(run(newest, '-p', '.')).toEqual(OK)
  })

  it('the package runs in a plain project, imported and required, and gives its types', async ({
    db,
  }) => {
    const base = await startApi(db)
    const ana = await newCaller(db, base, 'ana')
    await listWith(ana, 'summer', [watch('A-1')])
    await record(db, await fareOf(db, '101'), new Date(), available('100.00'))
    const project = await newFolder()
    await writeFile(path.join(project, 'package.json'), '{}')
    await writeFile(path.join(project, 'cases.json'), JSON.stringify(webhookCases()))
    const code = `
      const { readFileSync } = process.getBuiltinModule('node:fs')
      const { createFarewatch, dataOf, followWatchChanges, verifyWebhook } = client
      const server = { baseUrl: '${base}', key: '${ana.key}' }
      ;(async () => {
        const { seq } = await dataOf(createFarewatch(server).GET('/api/v1/watch-state'))
        for await (const { kind } of followWatchChanges({ ...server, after: seq - 1 })) {
          console.log(kind)
          break
        }
        for (const { headers, body, secret } of JSON.parse(readFileSync('cases.json', 'utf8'))) {
          try {
            console.log(verifyWebhook({ headers: new Headers(headers), body }, { secret }).event.type)
          } catch (err) {
            console.log(err.name)
          }
        }
      })()`
    await writeFile(
      path.join(project, 'imported.mjs'),
      `import * as client from 'farewatch-client'\n${code}`,
    )
    await writeFile(
      path.join(project, 'required.cjs'),
      `const client = require('farewatch-client')\n${code}`,
    )
    await writeFile(path.join(project, 'typed.ts'), TYPED)

    const packed = run('npm', 'pack', '--silent', '--pack-destination', project)
    const tarball = packed.output.trim().split('\n').at(-1) ?? ''
    const installed = runIn(project, 'npm', 'install', '--offline', '--no-audit', `./${tarball}`)
    const compiled = runIn(
      project,
      ...[path.join(CLIENT, 'node_modules/.bin/tsc'), '--noEmit', '--strict'],
      ...['--module', 'nodenext', '--target', 'es2023', '--types', 'node'],
      ...['--typeRoots', path.join(CLIENT, 'node_modules/@types'), 'typed.ts'],
    )

    expect(packed).toEqual(OK)
    expect(installed).toEqual(OK)
    expect(compiled).toEqual({ status: 0, output: '' })
    const expected = ['watch_started', ...webhookCases().map(({ outcome }) => outcome)]
    for (const file of ['imported.mjs', 'required.cjs']) {
      // The API runs in this process, so it must not wait for the program.
      const program = startProgram([machineNode(), file], { cwd: project })
      await program.ended
      expect(program.lines()).toEqual(expected)
    }
  })

  it('the example saves a file of watches, unless a watch would lose a setting', async ({ db }) => {
    const { base, close } = await openApi(db)
    onTestFinished(close)
    const ana = await newCaller(db, base, 'ana')
    const file = path.join(await newFolder(), 'watches.csv')
    const save = async (text: string) => {
      await writeFile(file, text)
      const command = [process.execPath, 'examples/import-watches.ts', 'summer', file]
      const example = startProgram(command, { cwd: CLIENT, env: serverOf(base, ana) })
      await example.ended
      return example.lines()
    }
    const header =
      'reference,flight_id,residents_adults,non_residents_adults,price_threshold_percent'

    expect(await save(`${header}\nA-1,101,1,0,5\nA-2,102,1,0,\n`)).toEqual([
      '2 added, 0 changed, 0 unchanged',
    ])
    expect(await save(`${header}\nA-1,101,1,0,\n`)).toEqual([
      '1 watches would lose a setting; nothing was saved',
    ])
    expect((await save(`${header}\nA-1,101,0,0,\n`))[0]).toContain('/2: there must be')
  })
})

describe.for(LANGUAGES)('the examples in %s', (language) => {
  const { cwd, follow, receive } = EXAMPLES[language]

  // Fault: A client of the stream, or the server, is restarted.
  it('follow the feed over restarts of themselves and of the server', async ({ db }) => {
    const first = await openApi(db)
    const ana = await newCaller(db, first.base, 'ana')
    await listWith(ana, 'summer', [watch('A-1')])
    const fareId = await fareOf(db, '101')
    const file = path.join(await newFolder(), 'last-seq.txt')
    const start = () => startProgram([...follow, file], { cwd, env: serverOf(first.base, ana) })
    const change = (answer: Parameters<typeof record>[3]) => record(db, fareId, new Date(), answer)

    await change(available('100.00'))
    const example = start()
    await example.lineWith('following after 1')
    await change(available('101.00'))
    await example.lineWith('2 summer A-1: price_changed, bookable')
    await first.close()
    await change(available('102.00'))
    const second = await openApi(db, { port: Number(new URL(first.base).port) })
    onTestFinished(second.close)
    await example.lineWith('3 summer A-1: price_changed')
    await until('the number is saved', async () => (await readFile(file, 'utf8')) === '3')
    await example.kill()
    await change(available('103.00'))
    const again = start()
    await again.lineWith('4 summer A-1: price_changed')
    await change(gone)
    await passSeconds(db, 20)
    await change(gone)
    await again.lineWith('5 summer A-1: became_unavailable, not_bookable')

    const lines = [...example.lines(), ...again.lines()].filter((line) => !/^again in/.test(line))
    expect(lines.map((line) => line.split(':')[0])).toEqual([
      'summer A-1',
      'following after 1',
      '2 summer A-1',
      '3 summer A-1',
      'following after 3',
      '4 summer A-1',
      '5 summer A-1',
    ])
  })

  it('receive the webhooks of an endpoint, ignore repeated ones and refuse others', async ({
    db,
  }) => {
    const base = await startApi(db, { allowedNetworks: NETWORKS })
    const ana = await newCaller(db, base, 'ana')
    const port = await freePort()
    const target = `http://127.0.0.1:${port}/`
    const { body: endpoint } = await ana.send('POST', '/webhook-endpoints', { target })
    const secret = String(endpoint.secret)
    const env = { WEBHOOK_SECRET: secret, PORT: String(port) }
    const example = startProgram(receive, { cwd, env })
    await example.lineWith('listening on')
    await listWith(ana, 'summer', [watch('A-1')])
    const fareId = await fareOf(db, '101')
    const { dispatch } = startDelivery(db)
    const deliver = async () => {
      await fanOutAll(db)
      await dispatch()
    }

    await record(db, fareId, new Date(), available('100.00'))
    await deliver()
    await recorded(db, 1)
    await replayRange(db, ana.resellerId, {
      endpointId: String(endpoint.id),
      from: 1,
      to: 1,
    })
    await deliver()
    await recorded(db, 2)
    const forged = await fetch(target, { method: 'POST', body: '{"type":"fare.expired"}' })
    await record(db, fareId, new Date(), available('101.00'))
    await deliver()
    await example.lineWith('fare.price_changed 2')

    expect(forged.status).toBe(400)
    expect(example.lines().slice(1)).toEqual([
      'fare.watch_started 1 summer A-1: bookable',
      expect.stringMatching(/^refused: /) as string,
      'fare.price_changed 2 summer A-1: bookable',
    ])
  })
})
