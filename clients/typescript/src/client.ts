import createClient, { type Client } from 'openapi-fetch'
import type { Problem, paths } from './schema.ts'

export interface FarewatchOptions {
  /** Such as `https://farewatch.example`, without a path. */
  readonly baseUrl: string
  /** A key: `fwk_…`. It may be left out only where a proxy adds it. */
  readonly key?: string | undefined
}

/** Every operation of the API with the types of its parameters, bodies and answers. */
export type Farewatch = Client<paths>

/** @example const { data, error } = await createFarewatch({ baseUrl, key }).GET('/api/v1/watch-state') */
export function createFarewatch({ baseUrl, key }: FarewatchOptions): Farewatch {
  return createClient<paths>({
    baseUrl,
    headers: authorization(key),
    // The values of a list parameter are separated by commas.
    querySerializer: { array: { style: 'form', explode: false } },
  })
}

export function authorization(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}

/** A problem as an error. `problem.code` is stable; `problem.detail` says what is wrong with this request. */
export class FarewatchError extends Error {
  override readonly name: string = 'FarewatchError'
  readonly problem: Problem

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`)
    this.problem = problem
  }
}

/** The data of an answer. Throws FarewatchError if the answer is a problem. */
export async function dataOf<T>(
  answer: Promise<{ readonly data?: T; readonly error?: Problem | undefined }>,
): Promise<T> {
  const { data, error } = await answer
  if (error !== undefined) throw new FarewatchError(error)
  return data as T
}
