import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { buildConnector } from 'undici'
import { memoized } from '../../platform/base/cache.ts'
import { skipInterimAnswers } from '../../platform/base/interim-answers.ts'
import { isLoopbackHost } from '../../platform/base/loopback.ts'

/** Which addresses farewatch may deliver to, in addition to https on public addresses. */
export interface TargetPolicy {
  /** Plain http to any allowed address. To an allowed loopback address it needs no setting. */
  readonly allowHttp: boolean
  /**
   * Networks in the form `10.1.0.0/16`, of which farewatch may reach addresses that are not public. With a port, as in
   * `127.0.0.1/32:8092`, that port alone may be reached, and by its address alone: names do not match.
   */
  readonly allowedNetworks: readonly string[]
}

export const MAX_URL_CHARS = 2_000

/** What is wrong with the URL of a receiver; undefined if farewatch may try to connect to its host. */
export function urlFault(text: string, policy: TargetPolicy): string | undefined {
  if (text.length > MAX_URL_CHARS) return `must not be longer than ${MAX_URL_CHARS} characters`
  // URL parsing drops or replaces these, so the URL would differ from the text that the caller checked.
  if (/[\s\p{Cc}\\]/u.test(text)) return 'must hold no spaces, control characters and backslashes'
  const url = URL.parse(text)
  if (url === null) return 'must be a URL of the form https://…'
  if (url.protocol !== 'https:' && !mayUseHttp(url, policy)) return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must hold no user name and no password'
  if (url.hash !== '') return 'must hold no fragment'
  const literal = literalOf(url.hostname)
  if (literal !== undefined && !isAllowedAddress(literal, policy.allowedNetworks, url.port)) {
    return 'must not name an address of a private or special network that WEBHOOK_ALLOWED_NETWORKS lacks'
  }
  return undefined
}

function mayUseHttp({ protocol, host }: URL, { allowHttp }: TargetPolicy): boolean {
  return protocol === 'http:' && (allowHttp || isLoopbackHost(host))
}

/**
 * The address that a host name spells out; undefined if the name must be resolved. URL parsing has turned the decimal,
 * octal and hexadecimal forms of IPv4 into the dotted one. `localhost` is loopback by RFC 6761, whatever DNS answers.
 */
function literalOf(hostname: string): string | undefined {
  const name = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (name === 'localhost' || name.endsWith('.localhost')) return '127.0.0.1'
  return ipaddr.isValid(name) ? name : undefined
}

/** Azure answers virtual machines on this public address. */
const PUBLIC_METADATA = '168.63.129.16'
/** The only range from which public IPv6 addresses are assigned. It excludes site-local and IPv4-compatible ones. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/**
 * Whether farewatch may connect to an address: it is public, or in one of the allowed networks, which may demand a
 * port.
 */
export function isAllowedAddress(
  text: string,
  allowedNetworks: readonly string[],
  port = '',
): boolean {
  if (!ipaddr.isValid(text)) return false
  // Turns an IPv4-mapped IPv6 address into the IPv4 address that the system connects to.
  const address = ipaddr.process(text)
  const isAllowed = networksOf(allowedNetworks).some(
    ({ range: [base, bits], only }) =>
      base.kind() === address.kind() &&
      address.match(base, bits) &&
      (only === undefined || only === port),
  )
  if (isAllowed) return true
  if (address.range() !== 'unicast' || address.toString() === PUBLIC_METADATA) return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST)
}

interface Network {
  readonly range: ReturnType<typeof ipaddr.parseCIDR>
  /** The port that may be reached; undefined if all may be. */
  readonly only: string | undefined
}

const PORT = /(?<=\/\d+):(\d+)$/

/** The same list of the settings is used for every delivery. */
const networksOf = memoized((allowedNetworks: readonly string[]): readonly Network[] =>
  allowedNetworks.map((network) => ({
    range: ipaddr.parseCIDR(network.replace(PORT, '')),
    only: PORT.exec(network)?.[1],
  })),
)

/** All addresses of a host name. Rejects, or resolves to nothing, if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** The host is, or resolves to, an address to which farewatch never connects. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError'
}

export class UnresolvedHostError extends Error {
  override readonly name = 'UnresolvedHostError'
}

interface ConnectorOptions {
  readonly allowedNetworks: readonly string[]
  readonly resolve: Resolve
  readonly timeoutMs: number
}

/**
 * Builds the function with which undici opens connections. It checks the host at every connect and connects to the
 * checked addresses only, so a name that resolves to another address later reaches nothing.
 *
 * Node does not look up hosts that are addresses, so these are checked before. The peer of the open connection is
 * checked too.
 */
export function createGuardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { allowedNetworks, timeoutMs } = options
  const connect = buildConnector({
    allowH2: false,
    timeout: timeoutMs,
    lookup: guardedLookup(options),
    // Tries several addresses of one host, each for a moment.
    autoSelectFamily: true,
  })
  return (target, callback) => {
    const literal = literalOf(target.hostname)
    if (literal !== undefined && !isAllowedAddress(literal, allowedNetworks, target.port)) {
      callback(new BlockedAddressError(), null)
      return
    }
    connect({ ...target, hostname: literal ?? target.hostname }, (...result) => {
      // After an error undici passes no second argument.
      const [error, socket] = result
      if (error !== null) {
        callback(...result)
        return
      }
      const { remoteAddress = '', remotePort } = socket
      if (isAllowedAddress(remoteAddress, allowedNetworks, String(remotePort))) {
        callback(null, skipInterimAnswers(socket))
        return
      }
      socket.destroy()
      callback(new BlockedAddressError(), null)
    })
  }
}

/** One address that is not allowed blocks the host, because its owner decides which one is tried. */
function guardedLookup({ resolve, allowedNetworks }: ConnectorOptions): LookupFunction {
  const find = async (hostname: string) => {
    const addresses = await resolve(hostname).catch(() => [])
    if (addresses.length === 0) throw new UnresolvedHostError()
    if (!addresses.every((address) => isAllowedAddress(address, allowedNetworks))) {
      throw new BlockedAddressError()
    }
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return (hostname, _options, callback) => {
    find(hostname).then(
      (addresses) => callback(null, addresses),
      (error: Error) => callback(error, []),
    )
  }
}

const resolver = new Resolver({ timeout: 2_000, tries: 2 })

/**
 * Asks the name servers of the system. It uses no thread: `dns.lookup` has four threads for the whole process, so four
 * hosts with a silent name server would delay every other.
 */
export const resolveInDns: Resolve = async (hostname) => {
  const answers = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}
