import { isIPv6 } from 'node:net'
import { isLoopback } from '../base/loopback.ts'
import type { Config } from './settings.ts'

/**
 * The address under which people open the page, without a slash at its end: `PUBLIC_URL`, else the API's own address if
 * this machine alone reaches it. Undefined where neither is known.
 */
export function publicUrlOf(config: Config): string | undefined {
  const { PUBLIC_URL, API_HOST, API_PORT } = config
  if (PUBLIC_URL !== undefined) return PUBLIC_URL.replace(/\/+$/, '')
  return isLoopback(API_HOST) && API_PORT !== 0 ? localUrlOf(config) : undefined
}

const ALL_ADDRESSES = new Set(['0.0.0.0', '::'])

/** The address under which this machine reaches the API. @param port where it listens, if any free port was taken. */
export function localUrlOf({ API_HOST, API_PORT }: Config, port = API_PORT): string {
  const host = ALL_ADDRESSES.has(API_HOST) ? 'localhost' : API_HOST
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}
