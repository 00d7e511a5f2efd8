import type { FastifyReply, FastifyRequest } from 'fastify'

export interface Version {
  /** Different for every version of the response; letters, digits and `-_.:`, without quotes. */
  readonly tag: string
  /** When this version began. Missing if another version began in the same second, because HTTP dates have no fractions. */
  readonly lastModified?: Date | undefined
}

/**
 * Sets the version headers and returns whether the client has this version already. If it does, return
 * `reply.code(304).send()`.
 *
 * The tag is weak because one version has several encodings. Clients may store the response but must revalidate it.
 * Shared caches must not store it, because it belongs to one key.
 */
export function isNotModified(
  request: FastifyRequest,
  reply: FastifyReply,
  { tag, lastModified }: Version,
): boolean {
  reply.header('etag', `W/"${tag}"`)
  reply.header('cache-control', 'private, no-cache')
  if (lastModified !== undefined) reply.header('last-modified', lastModified.toUTCString())
  const { 'if-none-match': tags, 'if-modified-since': since } = request.headers
  if (tags !== undefined) return tags.trim() === '*' || tagsOf(tags).includes(tag)
  if (since === undefined || lastModified === undefined) return false
  // Only our own Last-Modified counts. A later date is the client's clock, and the client may have fetched another
  // version at that time: a change is dated by when it happened but visible only once it is recorded.
  return Date.parse(lastModified.toUTCString()) === Date.parse(since)
}

function tagsOf(header: string): string[] {
  return [...header.matchAll(/"([^"]*)"/g)].map(([, tag]) => tag ?? '')
}
