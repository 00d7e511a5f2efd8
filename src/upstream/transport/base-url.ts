export interface BaseUrl {
  readonly origin: string
  /** The path before every endpoint's own, without a slash at its end. */
  readonly prefix: string
}

/**
 * Takes the upstream's base URL apart.
 *
 * Throws a TypeError that does not quote it: a user name or a query in it may be a credential.
 */
export function parseBaseUrl(baseUrl: string): BaseUrl {
  const url = URL.parse(baseUrl)
  const web = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (!url || !web || url.username || url.password || url.search || url.hash) {
    throw new TypeError(
      'the upstream base URL must be http or https, without user name, query and fragment',
    )
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}
