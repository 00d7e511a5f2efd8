import { Type } from 'typebox'

/** The flight data of the interface, as a search returns them; the upstream may send more than it documents. */
const Place = Type.Object({
  id: Type.Integer(),
  iata: Type.String(),
  city: Type.String(),
  country: Type.String(),
})
const Dates = Type.Object(
  { departure: Type.String(), arrival: Type.String() },
  { description: 'Local times, `YYYY-MM-DD HH:MM`.' },
)
const Duration = Type.Object({ human: Type.String(), seconds: Type.Integer() })
const Airline = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  twoLetterCode: Type.String(),
})
const Leg = Type.Object({
  from: Place,
  to: Place,
  number: Type.Integer(),
  dates: Dates,
  duration: Duration,
  airline: Airline,
})
const Amount = Type.Union([Type.Number(), Type.Null()])
const PassengerPrices = Type.Object({ adult: Amount, child: Amount, infant: Amount })

const Flight = Type.Object({
  from: Place,
  to: Place,
  legs: Type.Array(Leg),
  dates: Dates,
  duration: Duration,
  airline: Airline,
  site: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    url: Type.String(),
    logo: Type.String(),
  }),
  id: Type.Integer(),
  price: Type.Object({
    currency: Type.String(),
    total: Type.String({ description: 'Decimal, two places.' }),
    residents: PassengerPrices,
    nonResidents: PassengerPrices,
  }),
})

export const VerifyResult = Type.Record(
  Type.String(),
  Type.Object(
    {
      available: Type.Boolean({ description: 'Whether the flight can be booked now.' }),
      flight: Type.Optional(
        Type.Unsafe<object>({ ...Flight, description: 'Only where it is available.' }),
      ),
    },
    { additionalProperties: false },
  ),
)

const palma = { id: 101, iata: 'PMI', city: 'Palma', country: 'Spain' }
const madrid = { id: 102, iata: 'MAD', city: 'Madrid', country: 'Spain' }
const stretch = {
  from: palma,
  to: madrid,
  dates: { departure: '2026-03-20 08:00', arrival: '2026-03-20 09:30' },
  duration: { human: '1h 30m', seconds: 5_400 },
  airline: { id: 7, name: 'Tramontana Air', twoLetterCode: 'T1' },
}
const none = { adult: null, child: null, infant: null }

export const VERIFY_EXAMPLE = {
  101500: {
    available: true,
    flight: {
      ...stretch,
      legs: [{ ...stretch, number: 11 }],
      site: {
        id: 1,
        name: 'Site',
        url: 'https://site.example/',
        logo: 'https://site.example/logo.png',
      },
      id: 101_500,
      price: {
        currency: 'EUR',
        total: '169.00',
        residents: none,
        nonResidents: { ...none, adult: 84.5 },
      },
    },
  },
  101501: { available: false },
}
