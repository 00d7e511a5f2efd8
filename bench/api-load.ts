/** The load of bench/api.ts: autocannon in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const AUTOCANNON = path.join(import.meta.dirname, '../node_modules/.bin/autocannon')

export interface Load {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly seconds: number
  /** The status that every answer must have, because refusals are fast. */
  readonly status: number
}

interface Report {
  readonly requests: { readonly average: number; readonly total: number }
  readonly latency: { readonly p50: number; readonly p99: number }
  readonly errors: number
  readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
}

export interface Measured {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Throws if an answer has another status. */
export async function load({
  url,
  headers,
  connections,
  seconds,
  status,
}: Load): Promise<Measured> {
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const args = ['-j', '-c', String(connections), '-d', String(seconds), ...given, url]
  const cannon = spawn(process.execPath, [AUTOCANNON, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(cannon, 'close')
  const report = JSON.parse(await text(cannon.stdout)) as Report
  await ended
  const codes = Object.keys(report.statusCodeStats)
  if (report.errors > 0 || codes.join() !== String(status)) {
    throw new Error(`${url}: ${report.errors} errors, answers ${codes.join()}`)
  }
  const { p50, p99 } = report.latency
  return { perSecond: report.requests.average, p50Ms: p50, p99Ms: p99 }
}
