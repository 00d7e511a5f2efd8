import type { AnswerAnomaly } from '../observation.ts'
import { type Fields, isFields, type Spot } from './flight-fields.ts'

const PLACE_TEXTS = ['iata', 'city', 'country'] as const
const AIRLINE_TEXTS = ['name', 'twoLetterCode'] as const

/** What of a flight came in another type than the interface gives it: ids as text, names missing or no text. */
export function typeFaults({ value }: Spot): AnswerAnomaly[] {
  const flight = fieldsOf(value)
  const legs: readonly unknown[] = Array.isArray(flight.legs) ? flight.legs : []
  const parts = [flight, ...legs.map(fieldsOf)]
  const textId =
    typeof flight.id === 'string' ||
    parts.some((part) => typeof part.number === 'string' || endsOf(part).some(hasTextId))
  const anomalies: AnswerAnomaly[] = textId ? ['text_ids'] : []
  if (parts.some(hasBlankText)) anomalies.push('blank_texts')
  return anomalies
}

/** A flight and each of its legs have two places and an airline. */
function endsOf({ from, to, airline }: Fields): readonly unknown[] {
  return [from, to, airline]
}

function hasTextId(value: unknown): boolean {
  return typeof fieldsOf(value).id === 'string'
}

function hasBlankText({ from, to, airline }: Fields): boolean {
  const blankIn = (value: unknown, names: readonly string[]) => {
    const fields = fieldsOf(value)
    return names.some((name) => typeof fields[name] !== 'string')
  }
  return blankIn(from, PLACE_TEXTS) || blankIn(to, PLACE_TEXTS) || blankIn(airline, AIRLINE_TEXTS)
}

const NO_FIELDS: Fields = {}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : NO_FIELDS
}
