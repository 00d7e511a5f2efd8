import { type Command, InvalidArgumentError } from 'commander'
import {
  type FieldValue,
  type Question,
  type QuestionField,
  questionFrom,
  questionWith,
  TERM_FIELDS,
  valuesText,
} from '../upstream/question.ts'

/** The values of the options, by the names that commander gives them. */
export interface TermOptions {
  readonly [name: string]: unknown
}

/** @example optionOf('residents_adults') // 'residents-adults' */
export function optionOf(column: string): string {
  return column.replaceAll('_', '-')
}

/** Adds an option for each term of a question. */
export function addTermOptions(command: Command): void {
  for (const field of TERM_FIELDS) {
    const { column, label, parse, default: absent } = field
    const about = `${label.toLowerCase()}, ${valuesText(field)}, ${absent} if another of these options is given`
    command.option(`--${optionOf(column)} <value>`, about, (text) => {
      const parsed = parse(text)
      if ('error' in parsed) throw new InvalidArgumentError(`It ${parsed.error}.`)
      return parsed.value
    })
  }
}

/** The question of the options. Without any of them it is that of one adult, who is no resident. */
export function questionOfOptions(
  flightId: string,
  returnFlightId: string | undefined,
  options: TermOptions,
): Question {
  const flights = { flightId, returnFlightId: returnFlightId ?? null }
  if (!hasTerms(options)) return questionWith(flights)
  const terms = questionFrom((field: QuestionField) => termOf(options, field) ?? field.default)
  return { ...terms, ...flights }
}

/** Whether one of the options of `addTermOptions` is given. */
export function hasTerms(options: TermOptions): boolean {
  return TERM_FIELDS.some((field) => termOf(options, field) !== undefined)
}

function termOf(options: TermOptions, { column }: QuestionField): FieldValue | undefined {
  const name = column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return options[name] as FieldValue | undefined
}
