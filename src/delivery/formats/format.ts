import type { EndpointFormat } from '../../platform/base/kinds.ts'

/** A record or an event as a format receives it. */
export interface Message {
  /** The stable id of the delivery: the same at every attempt and at every replay. */
  readonly deliveryId: string
  /** `fare.became_available` and so on; `webhook.test` and `webhook.disabled` are events without a record. */
  readonly type: string
  /** When the record was written, ISO 8601. */
  readonly timestamp: string
  /** A record as `/api/v1/watch-changes` shows it, or the content of an event. */
  readonly data: unknown
}

/** A JSON object in whose texts, at any depth, `{name}` stands for a field of the message. */
export type Template = Readonly<Record<string, unknown>>

/** A decrypted endpoint. */
export interface Target {
  readonly endpointId: string
  /** The URL or the e-mail address. */
  readonly address: string
  /** All secrets that sign at present, newest first. Empty for formats that are not signed. */
  readonly secrets: readonly string[]
  /** The reseller's own, lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The form of a body of the format `json`; null of the others. */
  readonly template: Template | null
}

interface Answered {
  /** Null if there was no answer with a status. */
  readonly status: number | null
  /** The first kilobyte of the answer. */
  readonly answer: string
}

/**
 * The result of one request. `failed` is tried again. `gone` disables the endpoint. `blocked`: the address is one that
 * farewatch never connects to, so another attempt would not help. `postponed`: nothing was sent, because a limit of
 * ours is used up. It is no attempt and no failure.
 */
export type SendResult =
  | ({ readonly kind: 'delivered' } & Answered)
  | ({
      readonly kind: 'failed'
      readonly outcome: string
      readonly retryAfterMs?: number
    } & Answered)
  | ({ readonly kind: 'gone' | 'blocked'; readonly outcome: string } & Answered)
  | { readonly kind: 'postponed'; readonly outcome: string; readonly retryAfterMs: number }

/** A result of a format that has no limit of its own. */
export type PostResult = Exclude<SendResult, { readonly kind: 'postponed' }>

export const BLOCKED = { kind: 'blocked', outcome: 'blocked', status: null, answer: '' } as const

/** The codes of errors of TLS. */
export const TLS_CODE = /CERT|SSL|TLS|SIGNATURE/

/** How messages reach a receiver. */
export interface Format {
  readonly name: EndpointFormat
  /**
   * How many messages one request may carry. A format above 1 joins all that are due, so it has one request in progress
   * for each endpoint.
   */
  readonly maxMessages: number
  send(target: Target, messages: readonly Message[], signal: AbortSignal): Promise<SendResult>
}
