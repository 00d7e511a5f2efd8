import { BlockList, isIP } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether an address is reachable from this machine only. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/**
 * Whether a host names this machine itself, as in a URL or in the header `Host`. A name that resolves to a loopback
 * address may belong to anybody, so only `localhost` counts.
 * @example isLoopbackHost('[::1]:9091') // true
 */
export function isLoopbackHost(host: string): boolean {
  const url = URL.parse(`http://${host}`)
  if (url === null) return false
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  return name === 'localhost' || (isIP(name) !== 0 && isLoopback(name))
}

/** The port of `receive` if `--port` is not set. */
export const RECEIVER_PORT = 8092
/** What must be allowed so that an endpoint may deliver to that port of this machine. */
export const RECEIVER_NETWORK = `127.0.0.1/32:${RECEIVER_PORT}`
