/**
 * Measures the client against the least possible work on the same server in the same run.
 *
 * Verify: calls a second, 64 at a time, compared with a bare undici loop that asks the same questions and reads the
 * bodies. The two alternate, and the result is the median of the rounds. Lists: MB/s, memory and the longest block of
 * the event loop for one large list, compared with one JSON.parse of the same bytes. Each reading and each upstream runs
 * in its own process.
 *
 *   npm run bench:upstream -- [routes] [rounds]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import { createLogger } from '../src/platform/base/logger.ts'
import { createScrub } from '../src/platform/base/secrets.ts'
import { FARES_PROVIDER } from '../src/upstream/fares/fares-provider.ts'
import { createUpstreamClient } from '../src/upstream/upstream-client.ts'
import type { ListReading } from './read-list.ts'
import { bareLoop, questionOf } from './verify-rivals.ts'

const ROUTES = Number(process.argv[2] ?? 1_000_000)
const ROUNDS = Number(process.argv[3] ?? 5)
const SECONDS = 3
const CALLS = 64
const FARES = 30_000

const log = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})

async function startUpstream(file: string, ...args: string[]) {
  const child = fork(path.join(import.meta.dirname, file), args)
  const [port] = (await once(child, 'message')) as [number]
  return { child, url: `http://127.0.0.1:${port}` }
}

/** The client as in the worker: with a token, a scrubber and the complete reading of every answer. */
async function clientLoop(url: string): Promise<number> {
  const accessToken = 'bench-access-token'
  const client = createUpstreamClient({
    provider: FARES_PROVIDER,
    baseUrl: url,
    accessToken,
    scrub: createScrub([accessToken]),
    log,
    limits: { maxConnections: CALLS },
  })
  const { signal } = new AbortController()
  const end = performance.now() + SECONDS * 1_000
  let asked = 0
  const loop = async () => {
    while (performance.now() < end) {
      const question = questionOf(String(1_000_000 + (asked % FARES)))
      asked += 1
      const { outbound } = await client.verifyFares(question, { signal })
      if (outbound.kind !== 'available') throw new Error(`the upstream answered ${outbound.kind}`)
    }
  }
  await Promise.all(Array.from({ length: CALLS }, loop))
  await client.close()
  return asked
}

interface Rate {
  readonly perSecond: number
  readonly cpuPer1000: number
}

async function measured(loop: () => Promise<number>): Promise<Rate> {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  const asked = await loop()
  const { user, system } = process.cpuUsage(cpu)
  return {
    perSecond: (asked / (performance.now() - start)) * 1_000,
    cpuPer1000: (user + system) / 1e3 / asked,
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function report(name: string, rates: readonly Rate[], bare: readonly Rate[]): void {
  const rate = median(rates.map((r) => r.perSecond))
  const cpu = median(rates.map((r) => r.cpuPer1000))
  const ratios = rates.map((r, round) => r.perSecond / (bare[round]?.perSecond ?? Number.NaN))
  const cells = [
    name.padEnd(18),
    rate.toFixed(0).padStart(9),
    median(ratios).toFixed(2).padStart(8),
  ]
  console.log(cells.join(' '), cpu.toFixed(4).padStart(13))
}

async function compareVerify(): Promise<void> {
  const { child, url } = await startUpstream('verify-upstream.ts')
  const bare: Rate[] = []
  const ours: Rate[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const rates = [
      await measured(() => bareLoop(url, FARES, SECONDS)),
      await measured(() => clientLoop(url)),
    ] as const
    // The first round only warms up the compiler.
    if (round > 0) {
      bare.push(rates[0])
      ours.push(rates[1])
    }
  }
  child.disconnect()
  console.log('\nverify calls       a second  of bare  CPU s / 1,000')
  report('bare undici loop', bare, bare)
  report('client', ours, bare)
}

async function readList(how: string, url: string): Promise<ListReading> {
  const child: ChildProcess = fork(path.join(import.meta.dirname, 'read-list.ts'), [how, url])
  const [reading] = (await once(child, 'message')) as [ListReading]
  await once(child, 'exit')
  return reading
}

async function compareLists(): Promise<void> {
  const { child, url } = await startUpstream('list-upstream.ts', String(ROUTES))
  const readings = new Map<string, ListReading[]>()
  for (let round = 0; round < ROUNDS; round++) {
    for (const how of ['ours', 'parse']) {
      readings.set(how, [...(readings.get(how) ?? []), await readList(how, url)])
    }
  }
  child.disconnect()
  const [{ routes, bytes } = { routes: 0, bytes: 0 }] = readings.get('ours') ?? []
  console.log(`\n${routes} routes, ${(bytes / 1e6).toFixed(0)} MB`)
  console.log('                    MB/s  read alone MB/s  memory / body  longest block ms')
  for (const [how, all] of readings) {
    const of = (value: (reading: ListReading) => number) => median(all.map(value))
    const cells = [
      (how === 'ours' ? 'client and reader' : 'one JSON.parse').padEnd(17),
      of((r) => r.bytes / 1e3 / r.ms)
        .toFixed(0)
        .padStart(6),
      of((r) => r.bytes / 1e3 / (r.ms - r.downloadMs))
        .toFixed(0)
        .padStart(16),
      of((r) => r.grownBytes / r.bytes)
        .toFixed(1)
        .padStart(14),
      of((r) => r.longestBlockMs)
        .toFixed(0)
        .padStart(17),
    ]
    console.log(cells.join(' '))
  }
}

const load = () => os.loadavg()[0]?.toFixed(1)
console.log(`load ${load()}`)
await compareVerify()
await compareLists()
console.log(`\nload ${load()}`)
