import fc from 'fast-check'
import { anyText } from '../support/any-text.ts'

type Shape = Readonly<Record<string, unknown>>

const TEXTS = [
  "'; drop table api_key; --",
  "' or 1=1 --",
  '\0',
  'a\0b',
  '\ud800',
  '1e9',
  '-1',
  '0',
  'NaN',
  'Infinity',
  '9007199254740993',
  '99999999999999999999999999',
  '',
  ' ',
  '%',
  '%00',
  '../../etc/passwd',
  '\u202etxt',
  '👩‍👩‍👧',
  '__proto__',
  'constructor',
  '{"$ne":1}',
  '<script>alert(1)</script>',
  'null',
  'true',
  '2026-13-45T99:99:99Z',
  '0000-00-00T00:00:00Z',
  '+275760-09-14T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  '00000000-0000-0000-0000-000000000000',
  'x'.repeat(3_000),
]

/** Hostile values. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...TEXTS),
  anyText({ maxLength: 200 }),
  fc.double().map(String),
)

/** Texts that a parameter's schema allows, and some just outside it. */
export function textOf(shape: Shape): fc.Arbitrary<string> {
  const { type, minimum, maximum, format } = shape
  const options = (shape.anyOf ?? []) as Shape[]
  const choices = [...((shape.enum ?? []) as unknown[]), ...options.map((option) => option.const)]
  if (choices.length > 0) return fc.constantFrom(...choices.map(String))
  if (type === 'integer' || type === 'number') {
    const min = Number(minimum ?? -1e6)
    const max = Number(maximum ?? 1e6)
    return fc.integer({ min: min - 2, max: max + 2 }).map(String)
  }
  if (type === 'boolean') return fc.constantFrom('true', 'false')
  if (type === 'array') {
    return fc.array(textOf(shape.items as Shape), { maxLength: 4 }).map((parts) => parts.join(','))
  }
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((at) => at.toISOString())
  if (format === 'uuid') return fc.uuid()
  return fc.string({ maxLength: Math.min(Number(shape.maxLength ?? 40), 200) })
}

/** A valid body in which some values are replaced by hostile ones. */
export function bodyLike(example: unknown): fc.Arbitrary<unknown> {
  const hostile = fc.oneof(hostileText, fc.jsonValue({ maxDepth: 2 }), fc.double())
  const nested = (value: unknown): fc.Arbitrary<unknown> => {
    if (Array.isArray(value)) {
      const items = fc.tuple(...value.map(nested))
      return fc.oneof({ weight: 6, arbitrary: items }, { weight: 1, arbitrary: hostile })
    }
    if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value).map(([name, member]) => [name, nested(member)] as const)
      const object = fc.record(Object.fromEntries(members), { requiredKeys: [] })
      return fc.oneof({ weight: 6, arbitrary: object }, { weight: 1, arbitrary: hostile })
    }
    return fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: hostile })
  }
  return nested(example)
}
