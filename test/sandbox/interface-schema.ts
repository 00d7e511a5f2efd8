import { Type } from 'typebox'

/** The resources of the fare interface, exactly as it documents them. */

const closed = { additionalProperties: false }
const text = Type.String({ minLength: 1 })
const url = Type.String({ pattern: '^https://' })
const localTime = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}$' })

const RoutePlace = Type.Object({ id: text, iata: text, city: text, country: text }, closed)
export const RouteSchema = Type.Object({ departure: RoutePlace, destination: RoutePlace }, closed)

const FlightPlace = Type.Object(
  { id: Type.Integer(), iata: text, city: text, country: text },
  closed,
)
const Dates = Type.Object({ departure: localTime, arrival: localTime }, closed)
const Duration = Type.Object(
  { human: Type.String({ pattern: '^\\d+h \\d+m$' }), seconds: Type.Integer() },
  closed,
)
const Airline = Type.Object(
  { id: Type.Integer(), name: text, twoLetterCode: Type.String({ pattern: '^..$' }) },
  closed,
)
const Leg = Type.Object(
  {
    from: FlightPlace,
    to: FlightPlace,
    number: Type.Integer(),
    dates: Dates,
    duration: Duration,
    airline: Airline,
  },
  closed,
)
const amount = Type.Union([Type.Number({ minimum: 0 }), Type.Null()])
const PassengerPrices = Type.Object({ adult: amount, child: amount, infant: amount }, closed)

export const FlightSchema = Type.Object(
  {
    from: FlightPlace,
    to: FlightPlace,
    legs: Type.Array(Leg, { minItems: 1, maxItems: 2 }),
    dates: Dates,
    duration: Duration,
    airline: Airline,
    site: Type.Object({ id: Type.Integer(), name: text, url, logo: url }, closed),
    id: Type.Integer(),
    price: Type.Object(
      {
        currency: text,
        total: Type.String({ pattern: '^\\d+\\.\\d{2}$' }),
        residents: PassengerPrices,
        nonResidents: PassengerPrices,
      },
      closed,
    ),
  },
  closed,
)
