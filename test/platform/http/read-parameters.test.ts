import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../../src/platform/http/problems.ts'
import { bodyReader } from '../../../src/platform/http/read-body.ts'
import { parameterReader } from '../../../src/platform/http/read-parameters.ts'
import { Instant, object, oneOf, orNull, unionBy } from '../../../src/platform/http/schemas.ts'

const Query = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
    share: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    paused: Type.Optional(Type.Boolean()),
    kinds: Type.Optional(Type.Array(Type.Enum(['added', 'removed']), { maxItems: 2 })),
    since: Type.Optional(Instant),
    id: Type.Optional(Type.String({ format: 'uuid' })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 5 })),
    places: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 5 }), { maxItems: 9 })),
  },
  { additionalProperties: false },
)
const read = parameterReader(Query)

describe('parameters', () => {
  it('every parameter is read in the type of its schema', () => {
    const given = {
      limit: '7',
      share: '0.5',
      paused: 'false',
      kinds: 'added,removed',
      since: '2026-01-31T12:00:00+02:00',
      name: 'true',
    }

    expect(read(given)).toEqual({
      limit: 7,
      share: 0.5,
      paused: false,
      kinds: ['added', 'removed'],
      since: new Date('2026-01-31T10:00:00Z'),
      name: 'true',
    })
    expect(read({})).toEqual({ limit: 10 })
  })

  it.each([
    ['limit', '101', 'limit must be a whole number from 1 to 100'],
    ['limit', '0', 'limit must be a whole number from 1 to 100'],
    ['limit', '1e1', 'limit must be a whole number from 1 to 100'],
    ['limit', ' 1', 'limit must be a whole number from 1 to 100'],
    ['share', '1e-1', 'share must be a number from 0 to 1'],
    ['paused', '1', 'paused must be true or false'],
    ['kinds', 'added,gone', 'kinds must be some of added, removed, at most 2'],
    ['kinds', '', 'kinds must be some of added, removed, at most 2'],
    ['kinds', 'added,added,added', 'kinds must be some of added, removed, at most 2'],
    [
      'places',
      '',
      'places must be values with commas between them, at most 9, and each must be text of 1 to 5 characters',
    ],
    ['since', '2026-01-31', 'since must be an instant such as 2026-01-31T12:00:00Z'],
    ['since', '2026-02-31T12:00:00', 'since must be an instant such as 2026-01-31T12:00:00Z'],
    ['id', '1', 'id must be of the form uuid'],
    ['name', '', 'name must be text of 1 to 5 characters'],
    ['name', 'abcdef', 'name must be text of 1 to 5 characters'],
    ['name', 'a\0', 'name may hold no NUL'],
  ])('the parameter %s refuses %j', (parameter, text, detail) => {
    const reading = () => read({ [parameter]: text })

    expect(reading).toThrow(
      expect.objectContaining({ code: 'request.invalid_parameter', args: { parameter, detail } }),
    )
  })

  it('the problem of an invalid parameter names it and never shows its value', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12, unit: 'grapheme' }), (secret) => {
        expect(() => read({ name: secret })).toThrow(
          expect.objectContaining({ message: expect.not.stringContaining(secret) as string }),
        )
      }),
    )
  })

  it('the problem of a missing parameter names it', () => {
    const strict = parameterReader(Type.Object({ id: Type.String() }))

    expect(() => strict({})).toThrow(expect.objectContaining({ message: 'id is missing' }))
  })
})

/** What the problem of a refused body says of its faults. */
function faultsOf(read: () => unknown): ProblemError['args'] {
  try {
    read()
  } catch (err) {
    if (err instanceof ProblemError) return err.args
    throw err
  }
  throw new Error('the body was not refused')
}

describe('bodies', () => {
  const Item = Type.Object(
    { reference: Type.String({ maxLength: 3 }) },
    { additionalProperties: false },
  )
  const readBody = bodyReader(
    Type.Object({ items: Type.Array(Item, { maxItems: 3 }) }, { additionalProperties: false }),
  )

  it('a body of the right shape is read', () => {
    expect(readBody({ items: [{ reference: 'A' }] })).toEqual({ items: [{ reference: 'A' }] })
  })

  it.each([
    [undefined, undefined],
    [null, undefined],
    ['text', ''],
    [{}, '/items'],
    [{ items: [{ reference: 'A' }, { reference: 'long' }] }, '/items/1/reference'],
    [{ items: [{ reference: 'A', colour: 'red' }] }, '/items/0/colour'],
    [{ items: [{ reference: 'a\0' }] }, '/items/0/reference'],
    [{ items: [{ reference: '\ud800' }] }, '/items/0/reference'],
    [{ items: [{ reference: 'A', 'a\0': 1 }] }, '/items/0/a'],
    [{ items: Array.from({ length: 4 }, () => ({ reference: 'A' })) }, '/items'],
    [{ items: Array.from({ length: 9_999 }, () => ({})) }, '/items/0/reference'],
    // Fault: A body that its schema refuses holds a million values.
  ])('the body %j is refused with the place of the fault', (given, pointer) => {
    expect(() => readBody(given)).toThrow(
      expect.objectContaining({
        code: 'request.invalid_body',
        args: expect.objectContaining(pointer === undefined ? {} : { pointer }) as object,
      }),
    )
  })

  const Digest = unionBy('type', 'Digest', [
    object({ type: oneOf(['interval']), every: oneOf(['15m', '1h']) }),
    object({
      type: oneOf(['daily']),
      hour: Type.Integer({ minimum: 0, maximum: 23 }),
      zone: Type.String(),
    }),
  ])
  const readSettings = bodyReader(
    object({
      name: Type.String({ minLength: 1, maxLength: 9 }),
      share: Type.Optional(Type.Number({ minimum: 0.1, maximum: 5 })),
      kinds: Type.Optional(orNull(Type.Array(oneOf(['added', 'removed']), { minItems: 1 }))),
      soldOut: Type.Optional(Type.Literal(true)),
      digest: Type.Optional(orNull(Digest)),
    }),
  )

  it.each([
    [[], '', 'must be an object'],
    [{}, '/name', 'is missing'],
    [{ nam: 'x' }, '/nam', '"nam" is not known: there are name, share, kinds, soldOut, digest'],
    [{ name: 5 }, '/name', 'must be text of 1 to 9 characters'],
    [{ name: 'x', share: 0 }, '/share', 'must be a number from 0.1 to 5'],
    [{ name: 'x', kinds: [] }, '/kinds', 'must be a list of at least 1 values'],
    [{ name: 'x', kinds: ['gone'] }, '/kinds/0', 'must be one of added, removed'],
    [{ name: 'x', soldOut: 1 }, '/soldOut', 'must be true'],
    [
      { name: 'x', digest: { type: 'interval', every: '5m' } },
      '/digest/every',
      'must be one of 15m, 1h',
    ],
    [
      { name: 'x', digest: { type: 'daily', hour: 25, zone: 'UTC' } },
      '/digest/hour',
      'must be a whole number from 0 to 23',
    ],
    [{ name: 'x', digest: { type: 'daily', hour: 7 } }, '/digest/zone', 'is missing'],
    [
      { name: 'x', digest: { type: 'daily', at: 7 } },
      '/digest/at',
      '"at" is not known: there are type, hour, zone',
    ],
    [{ name: 'x', digest: { type: 'weekly' } }, '/digest/type', 'must be one of interval, daily'],
  ])('the problem of the body %j says what its value must be', (given, pointer, detail) => {
    expect(() => readSettings(given)).toThrow(
      expect.objectContaining({
        code: 'request.invalid_body',
        args: expect.objectContaining({ pointer, detail }) as object,
      }),
    )
  })

  it('a body with several faults has all of them reported, each with its place', () => {
    const given = {
      nam: 'x',
      share: 9,
      kinds: ['gone', 'added', 5],
      digest: { type: 'daily', hour: 25, at: 7 },
    }
    const errors = [
      {
        pointer: '/nam',
        detail: '"nam" is not known: there are name, share, kinds, soldOut, digest',
      },
      { pointer: '/digest/at', detail: '"at" is not known: there are type, hour, zone' },
      { pointer: '/name', detail: 'is missing' },
      { pointer: '/share', detail: 'must be a number from 0.1 to 5' },
      { pointer: '/kinds/0', detail: 'must be one of added, removed' },
      { pointer: '/kinds/2', detail: 'must be one of added, removed' },
      { pointer: '/digest/zone', detail: 'is missing' },
      { pointer: '/digest/hour', detail: 'must be a whole number from 0 to 23' },
    ]

    const reported = faultsOf(() => readSettings(given))

    expect(reported).toMatchObject(errors[0] ?? {})
    expect(reported.errors).toHaveLength(errors.length)
    expect(reported.errors).toEqual(expect.arrayContaining(errors))
  })

  it('of a union whose choice is not known one fault is reported, next to those elsewhere', () => {
    expect(faultsOf(() => readSettings({ digest: { type: 'weekly', at: 7 } })).errors).toEqual([
      { pointer: '/digest/type', detail: 'must be one of interval, daily' },
      { pointer: '/name', detail: 'is missing' },
    ])
  })

  it('fifty faults of a body are reported, and every text that cannot be stored', () => {
    const many = faultsOf(() => readSettings({ name: 'x', kinds: Array(300).fill('gone') }))
    const unstorable = faultsOf(() =>
      readBody({ items: [{ reference: 'a\0' }, { reference: 'b' }, { reference: '\ud800' }] }),
    )

    expect(many.errors).toHaveLength(50)
    expect(unstorable.errors?.map(({ pointer }) => pointer)).toEqual([
      '/items/0/reference',
      '/items/2/reference',
    ])
  })

  it.each([
    ['lists', (inner: unknown) => [inner]],
    ['objects', (inner: unknown) => ({ inner })],
  ])('a deeply nested body of %s is refused without exhausting the stack', (_what, wrap) => {
    let deep: unknown = 'x'
    for (let i = 0; i < 400_000; i += 1) deep = wrap(deep)

    expect(() => readBody({ items: deep })).toThrow(
      expect.objectContaining({ code: 'request.invalid_body' }),
    )
  })
})
