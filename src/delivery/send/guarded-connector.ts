import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isAllowedAddress, literalOf } from './target-policy.ts'

/** All addresses of a host name. Rejects, or resolves to nothing, if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** The host is, or resolves to, an address to which farewatch never connects. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError'
}

export class UnresolvedHostError extends Error {
  override readonly name = 'UnresolvedHostError'
}

export interface ConnectorOptions {
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
      if (
        error !== null ||
        isAllowedAddress(socket.remoteAddress ?? '', allowedNetworks, String(socket.remotePort))
      ) {
        callback(...result)
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
