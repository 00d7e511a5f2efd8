import { AppError } from '../platform/base/errors.ts'
import { cleanText, quote, textFault } from '../platform/base/text.ts'

/** One question to the upstream: is this flight, with this return flight, available for these passengers? */
export interface Question {
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: PassengerMix
}

/** The six counts. */
export interface PassengerMix {
  readonly residents: PassengerCounts
  readonly nonResidents: PassengerCounts
}

export interface PassengerCounts {
  readonly adults: number
  readonly children: number
  readonly infants: number
}

type Given<T> = T extends object ? { readonly [K in keyof T]?: Given<T[K]> | undefined } : T

/** A question as a request gives it. What it leaves out has its default. */
export type QuestionInput = Given<Question>

export type FieldValue = string | number | boolean | null
export type Parsed<T> = { readonly value: T } | { readonly error: string }

/** A field of a question, and how each surface names it. Everything that knows the fields reads this list. */
export interface QuestionField<C extends string = string> {
  /** In SQL and in the files of watch lists. The option of the command line has dashes. */
  readonly column: C
  /** The parameter of the upstream's verify endpoint, and of ours. */
  readonly wire: string
  /** Its members in a question, and in the JSON of requests, answers and records. */
  readonly path: readonly string[]
  readonly label: string
  readonly isFlight?: boolean
  readonly sqlType: 'text' | 'smallint'
  /** The JSON schema of its values. */
  readonly schema: Readonly<Record<string, unknown>>
  /** Whether files and verify requests must give it. */
  readonly required: boolean
  /** What its absence means. A null is an empty cell. */
  readonly default: FieldValue
  /** Its value in the question of one adult. */
  readonly usual: FieldValue
  /** Singular and plural in a sentence, of what is counted. */
  readonly words?: readonly [one: string, many: string]
  /** Reads a cell or an option that is not empty. An error follows the name of the field in a sentence. */
  readonly parse: (text: string) => Parsed<FieldValue>
  /** The text that a verify request means, by the interface; undefined if it must be ignored. */
  readonly meant: (text: string) => string | undefined
}

/** The interface's cap on each of the six counts. */
export const MAX_PASSENGERS = 12
export const MAX_FLIGHT_ID_CHARS = 200

const WHOLE = /^\d{1,15}$/
/** A decimal number: "2", "+2", "2.0". Also "1.5", which is a number but not a valid count. */
const NUMERIC = /^\s*[+-]?\d+(\.\d+)?\s*$/

function parseCount(text: string): Parsed<number> {
  return parseWhole(text, { min: 0, max: MAX_PASSENGERS })
}

/** Reads a whole number within bounds. */
export function parseWhole(
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): Parsed<number> {
  const value = Number(text)
  if (WHOLE.test(text) && value >= min && value <= max) return { value }
  return { error: `must be a whole number from ${min} to ${max}, not ${quote(text)}` }
}

function parseFlightId(text: string): Parsed<string> {
  const value = text.trim()
  const error = textFault(value, MAX_FLIGHT_ID_CHARS)
  return error === undefined ? { value } : { error }
}

const FLIGHT = {
  isFlight: true,
  sqlType: 'text',
  schema: { type: 'string' },
  parse: parseFlightId,
  meant: (text: string) => text,
} as const

function count<const C extends string>(
  column: C,
  [group, type]: readonly [keyof PassengerMix, keyof PassengerCounts],
  words: readonly [one: string, many: string],
): QuestionField<C> {
  return {
    column,
    wire: `${group}[${type}]`,
    path: ['passengers', group, type],
    label: `${group === 'residents' ? 'Resident' : 'Non-resident'} ${type}`,
    sqlType: 'smallint',
    schema: { type: 'integer', minimum: 0, maximum: MAX_PASSENGERS },
    required: type === 'adults',
    default: 0,
    usual: column === 'non_residents_adults' ? 1 : 0,
    words,
    parse: parseCount,
    meant: (text) => (NUMERIC.test(text) ? String(Number(text)) : undefined),
  }
}

/** The two flights of a question. */
const FLIGHT_FIELDS = [
  {
    ...FLIGHT,
    column: 'flight_id',
    wire: 'flightId',
    path: ['flightId'],
    label: 'Outbound flight',
    required: true,
    default: '',
    usual: '',
  },
  {
    ...FLIGHT,
    column: 'return_flight_id',
    wire: 'returnFlightId',
    path: ['returnFlightId'],
    label: 'Return flight',
    required: false,
    default: null,
    usual: null,
  },
] as const satisfies QuestionField[]

/** The terms of a question: all that it says besides its flights. In the order of files and sentences. */
export const TERM_FIELDS = [
  count('residents_adults', ['residents', 'adults'], ['resident adult', 'resident adults']),
  count('residents_children', ['residents', 'children'], ['resident child', 'resident children']),
  count('residents_infants', ['residents', 'infants'], ['resident infant', 'resident infants']),
  count('non_residents_adults', ['nonResidents', 'adults'], ['adult', 'adults']),
  count('non_residents_children', ['nonResidents', 'children'], ['child', 'children']),
  count('non_residents_infants', ['nonResidents', 'infants'], ['infant', 'infants']),
] as const

export const QUESTION_FIELDS = [...FLIGHT_FIELDS, ...TERM_FIELDS] as const

export type QuestionColumn = (typeof QUESTION_FIELDS)[number]['column']

/** What its values are: '0 to 12'. */
export function valuesText({ schema }: QuestionField): string {
  const { minimum, maximum, enum: values } = schema
  return Array.isArray(values) ? values.join(' or ') : `${minimum} to ${maximum}`
}

/** The value of a field; undefined if it is left out. */
export function fieldValue(
  of: object,
  { path }: Pick<QuestionField, 'path'>,
): FieldValue | undefined {
  return path.reduce<unknown>(
    (at, name) => (at as Readonly<Record<string, unknown>> | undefined)?.[name],
    of,
  ) as FieldValue | undefined
}

/** Sets the value of a field; the objects around it are made. */
export function setField(
  of: object,
  { path }: Pick<QuestionField, 'path'>,
  value: FieldValue,
): void {
  const parent = path.slice(0, -1).reduce(
    (at, name) => {
      at[name] ??= {}
      return at[name] as Record<string, unknown>
    },
    of as Record<string, unknown>,
  )
  parent[path.at(-1) ?? ''] = value
}

/** The question whose fields have these values. */
export function questionFrom(
  value: (field: QuestionField<QuestionColumn>) => FieldValue,
): Question {
  const question = {}
  for (const field of QUESTION_FIELDS as readonly QuestionField<QuestionColumn>[]) {
    setField(question, field, value(field))
  }
  return question as Question
}

/** The question with what is given of it; the rest is that of one adult, who is no resident. */
export function questionWith(given: QuestionInput & Pick<Question, 'flightId'>): Question {
  return questionFrom((field) => fieldValue(given, field) ?? field.usual)
}

/** A canonical text: equal questions have equal texts. */
export function questionKey(question: Question): string {
  return JSON.stringify(QUESTION_FIELDS.map((field) => fieldValue(question, field)))
}

/**
 * For whom a fare is, in words, unless it is for one adult.
 * @example '1 resident child, 2 adults'
 */
export function termsText(question: QuestionInput): string {
  const terms = (TERM_FIELDS as readonly QuestionField[]).map((field) => {
    const value = fieldValue(question, field) ?? field.usual
    return { value, ...field }
  })
  if (terms.every(({ value, usual }) => value === usual)) return ''
  return terms
    .flatMap(({ value, usual, words }) => {
      if (words === undefined) return value === usual ? [] : [String(value)]
      return value === 0 ? [] : [`${value} ${words[value === 1 ? 0 : 1]}`]
    })
    .join(', ')
}

/** The interface forbids these terms of a question. `rule` is the violated rule. Thrown before any call. */
export class PassengerRuleError extends AppError {
  override readonly name = 'PassengerRuleError'
  override readonly code = 'upstream.passenger_rule'
  readonly rule: string

  constructor(rule: string) {
    super(`the passenger mix violates a rule: ${rule}`)
    this.rule = rule
  }
}

/** This flight id cannot be sent. `rule` is the violated rule. Thrown before any call. */
export class QuestionError extends AppError {
  override readonly name = 'QuestionError'
  override readonly code = 'upstream.question'
  readonly rule: string

  constructor(rule: string) {
    super(`the question is invalid: ${rule}`)
    this.rule = rule
  }
}

/**
 * Why a question must not name one flight twice. Follows the parameter or column of the return flight in a
 * sentence.
 */
export const SAME_FLIGHT_RULE = 'must not be the outbound flight: its price would be counted twice'

/** The return flight of a question is its outbound flight. Thrown before any call. */
export class SameFlightError extends AppError {
  override readonly name = 'SameFlightError'
  override readonly code = 'verify.same_flight'

  constructor() {
    super(`the return flight ${SAME_FLIGHT_RULE}`)
  }
}

/** Throws SameFlightError. */
export function assertTwoFlights({ flightId, returnFlightId }: Question): void {
  if (flightId === returnFlightId) throw new SameFlightError()
}

/** Throws PassengerRuleError or QuestionError for a question that must not be sent. */
export function assertQuestion(question: Question): void {
  const { flightId, returnFlightId } = question
  const wrongId =
    violatedIdRule('flightId', flightId) ??
    (returnFlightId === null ? undefined : violatedIdRule('returnFlightId', returnFlightId))
  if (wrongId !== undefined) throw new QuestionError(wrongId)
  const wrongTerm = wrongTermOf(question) ?? violatedPassengerRule(question)?.rule
  if (wrongTerm !== undefined) throw new PassengerRuleError(wrongTerm)
}

function wrongTermOf(question: Question): string | undefined {
  for (const field of TERM_FIELDS) {
    const parsed = field.parse(String(fieldValue(question, field)))
    if ('error' in parsed) return `${field.wire} ${parsed.error}`
  }
  return undefined
}

/** A rule for all counts together, in words, with the columns that it is about. */
interface ViolatedRule {
  readonly rule: string
  readonly columns: readonly string[]
}

/** The rule that a mix of valid counts violates. Undefined for a valid mix. */
export function violatedPassengerRule({ passengers }: Question): ViolatedRule | undefined {
  const total = (type: keyof PassengerCounts) =>
    passengers.residents[type] + passengers.nonResidents[type]
  const broken = (type: keyof PassengerCounts, rule: string) => ({
    rule,
    columns: TERM_FIELDS.filter(({ path }) => path.at(-1) === type).map(({ column }) => column),
  })
  if (total('adults') < 1) return broken('adults', 'there must be at least one adult')
  return total('infants') > total('adults')
    ? broken('infants', 'infants must not outnumber adults')
    : undefined
}

/** The rule that a flight id violates, in words. Undefined for a valid id. */
export function violatedIdRule(name: string, id: string): string | undefined {
  if (id.trim() === '') return `${name} must not be empty`
  if (id.length > MAX_FLIGHT_ID_CHARS) {
    return `${name} must have at most ${MAX_FLIGHT_ID_CHARS} characters`
  }
  // The request would carry another id than the one that we look up in the answer.
  return cleanText(id, MAX_FLIGHT_ID_CHARS) === id
    ? undefined
    : `${name} must not contain NUL or lone surrogates`
}
