import type { Belief } from '../../feeds/change-shapes.ts'
import type { Format, Message, Template } from './format.ts'
import { sentenceOf } from './sentences.ts'
import type { Transport } from './transport.ts'

type Field = string | number | null

/** A record, as far as a template can name its parts. An event has none of them. */
interface Named {
  readonly seq?: number
  readonly kind?: string
  readonly list?: string | null
  readonly reference?: string
  readonly flightId?: string
  readonly returnFlightId?: string | null
  readonly after?: Belief | null
}

function fieldsOf(message: Message) {
  const { seq, kind, list, reference, flightId, returnFlightId, after } = message.data as Named
  return {
    sentence: sentenceOf(message),
    id: message.deliveryId,
    type: message.type,
    recordedAt: message.timestamp,
    seq: seq ?? null,
    kind: kind ?? null,
    list: list ?? null,
    reference: reference ?? null,
    flightId: flightId ?? null,
    returnFlightId: returnFlightId ?? null,
    state: after?.state ?? null,
    amount: after?.price?.amount ?? null,
    currency: after?.price?.currency ?? null,
  } satisfies Record<string, Field>
}

/** The fields that a template can name. */
export const TEMPLATE_FIELDS = [
  'sentence',
  'id',
  'type',
  'recordedAt',
  'seq',
  'kind',
  'list',
  'reference',
  'flightId',
  'returnFlightId',
  'state',
  'amount',
  'currency',
] as const satisfies readonly (keyof ReturnType<typeof fieldsOf>)[]

const NAMED = /\{(\w+)\}/g
const MAX_TEMPLATE_CHARS = 4_000

/** What is wrong with a template; undefined if it is valid. */
export function templateFault(template: Template): string | undefined {
  const text = JSON.stringify(template)
  if (text.length > MAX_TEMPLATE_CHARS) return `must be at most ${MAX_TEMPLATE_CHARS} characters`
  const names = [...text.matchAll(NAMED)].map(([, name = '']) => name)
  const unknown = names.find((name) => !(TEMPLATE_FIELDS as readonly string[]).includes(name))
  return unknown === undefined
    ? undefined
    : `has no field {${unknown}}: the fields are ${TEMPLATE_FIELDS.join(', ')}`
}

/**
 * The body of a message: a text that is one field has its value, in other texts fields are put in as text, null as none.
 * @example fill({ text: '{sentence}', n: '{seq}' }, fields) // { text: 'PMI → BCN, …: sold out', n: 41 }
 */
function fill(template: unknown, fields: Readonly<Record<string, Field>>): unknown {
  if (typeof template === 'string') {
    const [, only] = /^\{(\w+)\}$/.exec(template) ?? []
    if (only !== undefined) return fields[only] ?? null
    return template.replace(NAMED, (_, name: string) => String(fields[name] ?? ''))
  }
  if (Array.isArray(template)) return template.map((item) => fill(item, fields))
  if (typeof template !== 'object' || template === null) return template
  const entries = Object.entries(template)
  return Object.fromEntries(entries.map(([name, value]) => [name, fill(value, fields)]))
}

/** Sends each message as one POST with a body of the form that the endpoint's template gives. */
export function createTemplateFormat({ transport }: { readonly transport: Transport }): Format {
  return {
    name: 'json',
    maxMessages: 1,
    send: (target, [message], signal) => {
      if (message === undefined) throw new Error('a request carries one message')
      const body = JSON.stringify(fill(target.template, fieldsOf(message)))
      return transport.post(target, { headers: {}, body }, signal)
    },
  }
}
