import type { Operation } from './operation.ts'

type Answering = Pick<Operation<never>, 'answer' | 'upstream' | 'audience'>

/** The headers that answers bear beside their operations' own, and what they say. */
const HEADERS = {
  'x-request-id': 'The id of the request: the one that it bore, or a new one.',
  'RateLimit-Policy':
    'Requests that may be made at once, and the seconds in which as many come back.',
  RateLimit: 'Requests that are left, and the seconds until all are back.',
  'Retry-After': 'Seconds after which to come again.',
  'WWW-Authenticate': 'What kind of key is wanted, and what was wrong with the one that was sent.',
  'farewatch-ignored': 'The parameters that counted for nothing, percent-encoded.',
  'farewatch-demo': 'There where no key was needed.',
  ETag: 'The version of the answer, for `If-None-Match`.',
  'Last-Modified': 'When the answer became what it is, for `If-Modified-Since`.',
} as const

type HeaderName = keyof typeof HEADERS

const ALWAYS = ['x-request-id', 'RateLimit-Policy', 'RateLimit'] as const
const OF_PROBLEMS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** For `components.headers`. */
export const HEADER_COMPONENTS = described(HEADERS)

/** Of an operation's right answer, and of the 304 in its place. */
export function answerHeaders({ answer, upstream, audience }: Answering): object {
  const named: HeaderName[] = [...ALWAYS]
  if (audience !== 'operators') named.push('farewatch-demo')
  if (upstream === true) named.push('farewatch-ignored')
  if (answer.versioned === true) named.push('ETag', 'Last-Modified')
  return { ...references(named), ...described(answer.headers ?? {}) }
}

export function problemHeaders(status: number): object {
  return references([...ALWAYS, ...(OF_PROBLEMS[status] ?? [])])
}

/** What a client says of the version that it has. */
export function versionParameters({ answer }: Answering): object[] {
  if (answer.versioned !== true) return []
  return [
    { name: 'If-None-Match', about: 'The `ETag` of the answer that the client has.' },
    { name: 'If-Modified-Since', about: 'Its `Last-Modified`; counts where there is no tag.' },
  ].map(({ name, about }) => ({
    name,
    in: 'header',
    required: false,
    description: about,
    schema: { type: 'string' },
  }))
}

function references(names: readonly HeaderName[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function described(headers: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  )
}
