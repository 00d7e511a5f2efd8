import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Provider } from '../provider.ts'
import { fieldValue, QUESTION_FIELDS, type Question } from '../question.ts'
import { isJsonAnswer } from '../transport/call-errors.ts'
import { readVerifyAnswer } from './read-verify-answer.ts'

const LIST_PATHS: Readonly<Record<RouteListName, string>> = {
  routes: '/api/v1/data/routes',
  'with-availability': '/api/v1/data/routes/with-availability',
}
const VERIFY_PATH = '/api/v1/flights/fares/verify'

/** The first provider. docs/reference/upstream.md describes its interface. Its lists have the shape that we keep. */
export const FARES_PROVIDER: Provider = {
  name: 'fares',
  parserVersion: 6,
  placeToken: (accessToken) => ({ query: String(new URLSearchParams({ accessToken })) }),
  listRequest: (list) => ({ path: LIST_PATHS[list], wants: isJsonAnswer }),
  verifyRequest: (question) => ({ path: verifyPath(question), wants: isJsonAnswer }),
  readAnswer: readVerifyAnswer,
}

const PARAMETERS = QUESTION_FIELDS.map((field) => ({
  path: field.path,
  name: encodeURIComponent(field.wire),
}))

/**
 * Path and query of a question, without the token. Built by hand: for ten parameters URLSearchParams takes longer than
 * undici takes for the request.
 */
function verifyPath(question: Question): string {
  const given = PARAMETERS.flatMap(({ name, ...field }) => {
    const value = fieldValue(question, field) ?? null
    return value === null ? [] : [`${name}=${encodeURIComponent(value)}`]
  })
  return `${VERIFY_PATH}?${given.join('&')}`
}
