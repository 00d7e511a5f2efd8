import { AppError } from '../../base/errors.ts'
import { type Money, parseMoney } from '../../base/money.ts'

/** A stored state that this version cannot read; `where` is the path to what is odd. */
export class FareStateError extends AppError {
  override readonly name = 'FareStateError'
  override readonly code = 'verify.state_malformed'
  override readonly retryable = false
  readonly where: string

  constructor(where: string, expected: string) {
    super(`the stored state of a fare is malformed: ${where} is not ${expected}`)
    this.where = where
  }
}

/** A field of parsed JSON, and the path to it. */
export interface Field {
  readonly value: unknown
  readonly where: string
}

type Fields = Readonly<Record<string, unknown>>

/** A field of an object. Throws FareStateError where `parent` is none. */
export function fieldOf(parent: Field, name: string): Field {
  if (typeof parent.value !== 'object' || parent.value === null || Array.isArray(parent.value)) {
    throw new FareStateError(parent.where || 'the whole', 'an object')
  }
  const where = parent.where === '' ? name : `${parent.where}.${name}`
  return { value: (parent.value as Fields)[name], where }
}

export function orNull<T>(field: Field, read: (field: Field) => T): T | null {
  return field.value === null ? null : read(field)
}

export function readText({ value, where }: Field): string {
  if (typeof value !== 'string') throw new FareStateError(where, 'text')
  return value
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** An instant as toISOString writes it: such texts are in the order of their times. */
export function readInstant(field: Field): string {
  const text = readText(field)
  if (!INSTANT.test(text) || Number.isNaN(Date.parse(text))) {
    throw new FareStateError(field.where, 'an instant')
  }
  return text
}

export function readCount({ value, where }: Field): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw new FareStateError(where, 'a count')
  }
  return value as number
}

export function readNumber({ value, where }: Field): number {
  if (typeof value !== 'number') throw new FareStateError(where, 'a number')
  return value
}

export function readOneOf<T extends string>({ value, where }: Field, names: readonly T[]): T {
  const found = names.find((name) => name === value)
  if (found === undefined) throw new FareStateError(where, `one of ${names.join(', ')}`)
  return found
}

export function readList<T>({ value, where }: Field, read: (field: Field) => T): T[] {
  if (!Array.isArray(value)) throw new FareStateError(where, 'a list')
  return value.map((item: unknown, at) => read({ value: item, where: `${where}[${at}]` }))
}

export function readMoney(field: Field): Money {
  const money = parseMoney(fieldOf(field, 'amount').value, fieldOf(field, 'currency').value)
  if (money === null) throw new FareStateError(field.where, 'an amount of money')
  return money
}
