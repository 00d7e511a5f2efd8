/** The load of bench/api.ts and bench/hostile.ts: autocannon in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'

const AUTOCANNON = path.join(import.meta.dirname, '../node_modules/.bin/autocannon')

export function startCannon(
  args: readonly string[],
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
): ChildProcess & { readonly stdout: NodeJS.ReadableStream } {
  const all = [AUTOCANNON, '-j', '-c', `${connections}`, '-d', `${seconds}`, ...args]
  return spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'ignore'] })
}

export function headerArgs(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
}

export interface Load {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly seconds: number
  /** The status that every answer must have, because refusals are fast. */
  readonly status: number
}

interface Report {
  readonly requests: { readonly average: number }
  readonly errors: number
  readonly statusCodeStats: Readonly<Record<string, unknown>>
}

/** Requests a second. Throws if an answer has another status. */
export async function load({ url, headers, status, ...how }: Load): Promise<number> {
  const cannon = startCannon([...headerArgs(headers), url], how)
  const { errors, statusCodeStats, requests } = JSON.parse(await text(cannon.stdout)) as Report
  const codes = Object.keys(statusCodeStats).join()
  if (errors > 0 || codes !== String(status)) {
    throw new Error(`${url}: ${errors} errors, answers ${codes}`)
  }
  return requests.average
}
