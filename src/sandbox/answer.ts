import type { VerifyQuestion } from './verify-fares.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const CSV_TYPE = 'text/csv; charset=utf-8'

/** What an endpoint has to say, complete, before anything of it is sent. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  /** For the request log. */
  readonly question?: VerifyQuestion
  readonly available?: Readonly<Record<string, boolean>>
}

/** assumption: errors are JSON of this shape; the interface shows none. */
export function refusal(status: number, code: string, message: string): Answer {
  return { status, contentType: JSON_TYPE, body: JSON.stringify({ error: { code, message } }) }
}
