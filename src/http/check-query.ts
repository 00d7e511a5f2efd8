import type { FastifyReply, FastifyRequest } from 'fastify'
import { cleanText } from '../base/text.ts'
import { TOKEN_PARAMETER } from './admit.ts'
import { ProblemError } from './problems.ts'

const MAX_NAMED = 10
const MAX_NAME_CHARS = 60
const IGNORED_HEADER = 'farewatch-ignored'

/**
 * The parameters that an operation has. One that is given twice is refused, and one that it does not have too: a
 * misspelt filter would silently be none. The upstream's own endpoints ignore the latter, as its interface says.
 */
export function checkQuery(
  known: ReadonlySet<string>,
  upstream: boolean,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Record<string, unknown> {
  const given = Object.entries(request.query as Record<string, unknown>)
  const ours = given.filter(([name]) => known.has(name))
  const strange = given.filter(([name]) => !known.has(name) && name !== TOKEN_PARAMETER)
  const doubled = ours.find(([, value]) => Array.isArray(value))
  if (doubled !== undefined) {
    const [parameter] = doubled
    const detail = `${parameter} is given twice`
    throw new ProblemError('request.doubled_parameter', { parameter, detail })
  }
  const [first] = strange
  if (first === undefined) return Object.fromEntries(ours)
  if (upstream) {
    ignoreParameters(
      reply,
      strange.map(([name]) => name),
    )
    return Object.fromEntries(ours)
  }
  const names = strange.slice(0, MAX_NAMED).map(([name]) => cleanText(name, MAX_NAME_CHARS))
  const parameters = known.size === 0 ? 'it has none' : `it has ${[...known].join(', ')}`
  throw new ProblemError('request.unknown_parameter', {
    parameter: names[0],
    detail: `the endpoint does not have ${names.map((name) => JSON.stringify(name)).join(', ')}: ${parameters}`,
  })
}

/** Says in the answer which parameters counted for nothing; again for more of them. */
export function ignoreParameters(reply: FastifyReply, names: readonly string[]): void {
  const before = reply.getHeader(IGNORED_HEADER)
  const shown = names
    .slice(0, MAX_NAMED)
    .map((name) => encodeURIComponent(cleanText(name, MAX_NAME_CHARS)))
  reply.header(IGNORED_HEADER, [...(before === undefined ? [] : [before]), ...shown].join(', '))
}
