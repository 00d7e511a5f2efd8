import type { FastifyRequest } from 'fastify'
import { ProblemError } from './problems.ts'

const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])
/** What a browser says of a request that a page of ours made, or that somebody typed. */
const OWN_SITES = new Set(['same-origin', 'none'])

/**
 * Refuses what a page of a stranger, open in a browser of this machine, may have sent.
 *
 * `Host` must be a name of this machine: a name of the page's own that was made to point here afterwards (DNS
 * rebinding) is not. `Origin` and `Sec-Fetch-Site` must not be another's: a page may send simple requests anywhere.
 */
export function assertLocal({ headers }: FastifyRequest): void {
  const { host = '', origin } = headers
  if (!LOCAL_NAMES.has(hostnameOf(host))) {
    throw new ProblemError('access.not_local', {
      parameter: 'Host',
      detail: 'without a key the address must be of localhost, 127.0.0.1 or [::1]',
    })
  }
  if (origin !== undefined && origin !== `http://${host}`) {
    throw new ProblemError('access.not_local', {
      parameter: 'Origin',
      detail: 'without a key no page of another origin is answered',
    })
  }
  const site = headers['sec-fetch-site']
  if (site !== undefined && !OWN_SITES.has(String(site))) {
    throw new ProblemError('access.not_local', {
      parameter: 'Sec-Fetch-Site',
      detail: 'without a key no page of another site is answered',
    })
  }
}

function hostnameOf(host: string): string {
  return host.replace(/:\d{1,5}$/, '').toLowerCase()
}
