import { isLoopbackHost } from '../base/loopback.ts'
import { ProblemError } from './problems.ts'

/**
 * Refuses what a page of another site could make a browser on this machine send to a server that listens on loopback
 * without a key. After DNS rebinding `Host` names the page's own domain, and `Origin` names the page that sends.
 */
export async function assertLocalCaller({
  headers: { host, origin },
}: {
  readonly headers: { readonly host?: string | undefined; readonly origin?: string | undefined }
}): Promise<void> {
  if (host !== undefined && !isLoopbackHost(host)) {
    throw new ProblemError('request.invalid', {
      parameter: 'Host',
      detail: 'the header Host must name this machine, as in localhost or 127.0.0.1',
    })
  }
  if (origin !== undefined && origin !== `http://${host}`) {
    throw new ProblemError('request.invalid', {
      parameter: 'Origin',
      detail: 'no page of another origin may send requests here',
    })
  }
}
