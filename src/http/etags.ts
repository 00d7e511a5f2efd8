import type { FastifyReply, FastifyRequest } from 'fastify'

export interface Version {
  /** Changes whenever the answer does; letters, digits and `-_.:` of one's own choice, without quotes. */
  readonly tag: string
  /** When it became what it is; missing where another version became so in the same second, which a date cannot tell. */
  readonly lastModified?: Date | undefined
}

/**
 * Says in the answer which version it is, and whether the client has it already: then return
 * `reply.code(304).send()` and read nothing more.
 *
 * Weak, since one version has several encodings. A client may keep it but asks each time; no shared cache may, since
 * the answer is for one key.
 */
export function clientHas(
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
  // The very date that was told, in whole seconds as the header has it. A later one is a client's own: it may have got
  // another version then, since a change is dated by when it happened and is seen only once it is recorded.
  return Date.parse(lastModified.toUTCString()) === Date.parse(since)
}

function tagsOf(header: string): string[] {
  return [...header.matchAll(/"([^"]*)"/g)].map(([, tag]) => tag ?? '')
}
