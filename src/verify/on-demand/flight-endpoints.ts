import { Type } from 'typebox'

/**
 * The flight data of the interface, as a search returns them. Only what we compare of a flight is checked before it is
 * passed on; all else comes as the upstream sent it, which is not always as the interface has it.
 */
const asSent = (description: string) => Type.Optional(Type.Unknown({ description }))
/** The members that something has as a rule, whatever it is and whether it has them. */
const asSentWith = (description: string, properties: Readonly<Record<string, string>>) =>
  Type.Optional(
    Type.Unsafe<unknown>({
      description,
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, about]) => [name, { description: about }]),
      ),
    }),
  )

const WholeNumber = Type.Union([Type.Integer(), Type.String({ pattern: '^\\d+$' })], {
  description: 'A whole number; the upstream may send its digits as text.',
})
const Place = Type.Object({
  id: WholeNumber,
  iata: asSent('Text.'),
  city: asSent('Text.'),
  country: asSent('Text.'),
})
const Dates = Type.Object(
  { departure: Type.String(), arrival: Type.String() },
  { description: 'Local times, `YYYY-MM-DD HH:MM`.' },
)
const Duration = asSentWith('As a rule an object.', {
  human: 'Text, such as `1h 30m`.',
  seconds: 'A whole number.',
})
const Leg = Type.Object({
  from: Place,
  to: Place,
  number: WholeNumber,
  dates: Dates,
  duration: Duration,
  airline: asSent('As that of the flight.'),
})

const Flight = Type.Object({
  from: Place,
  to: Place,
  legs: Type.Array(Leg, { minItems: 1 }),
  dates: Dates,
  duration: Duration,
  airline: Type.Object({
    id: WholeNumber,
    name: asSent('Text.'),
    twoLetterCode: asSent('Text.'),
  }),
  site: asSentWith('As a rule an object.', {
    id: 'A whole number.',
    name: 'Text.',
    url: 'Text.',
    logo: 'Text.',
  }),
  id: asSent('A whole number: the flight’s id, or its digits as text.'),
  price: asSentWith(
    'As a rule an object. What cannot be read is no reason to call a flight lost.',
    {
      currency: 'Text, such as `EUR`.',
      total:
        'Of all passengers: decimal text of two places, such as `169.00`. The upstream may also send a number, or text that is none.',
      residents:
        'Of one `adult`, `child` and `infant`: numbers, null where nobody such was asked for.',
      nonResidents: 'The same.',
    },
  ),
})

export const VerifyResultShape = Type.Record(
  Type.String(),
  Type.Object(
    {
      available: Type.Boolean({ description: 'Whether the flight can be booked now.' }),
      flight: Type.Optional(
        Type.Unsafe<object>({
          ...Flight,
          description: 'Only where it is available; as the upstream sent it.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)

const _none = { adult: null, child: null, infant: null }
