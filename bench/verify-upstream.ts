/** The upstream of bench/verify.ts, in a process of its own so that its CPU time is not measured. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

const PALMA = { id: 101, iata: 'PMI', city: 'Palma', country: 'Spain' }
const MADRID = { id: 102, iata: 'MAD', city: 'Madrid', country: 'Spain' }
const DATES = { departure: '2036-07-20 08:00', arrival: '2036-07-20 09:30' }
const DURATION = { human: '1h 30m', seconds: 5_400 }
const AIRLINE = { id: 7, name: 'Tramontana Air', twoLetterCode: 'T1' }
const NO_PRICES = { adult: null, child: null, infant: null }
const ID = 424_242_424

/** One flight for one adult, the same for every id: an unchanged world. */
const [before = '', between = '', after = ''] = JSON.stringify({
  [ID]: {
    available: true,
    flight: {
      from: PALMA,
      to: MADRID,
      legs: [
        {
          from: PALMA,
          to: MADRID,
          number: 11,
          dates: DATES,
          duration: DURATION,
          airline: AIRLINE,
        },
      ],
      dates: DATES,
      duration: DURATION,
      airline: AIRLINE,
      site: {
        id: 1,
        name: 'Site',
        url: 'https://site.invalid/',
        logo: 'https://site.invalid/l.png',
      },
      id: ID,
      price: {
        currency: 'EUR',
        total: '84.50',
        residents: NO_PRICES,
        nonResidents: { ...NO_PRICES, adult: 84.5 },
      },
    },
  },
}).split(String(ID))

/** The share of requests that are never answered, set by the parent process. */
let hangs = 0
/** When each flight was last answered. */
const answered = new Map<string, number>()
process.on('message', (asked) => {
  if (asked === 'answers') process.send?.([...answered])
  else hangs = Number(asked)
})

const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (hangs > 0 && Math.random() < hangs) return
  const id = /[?&]flightId=(\d+)/.exec(request.url ?? '')?.[1]
  response.writeHead(id === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(id === undefined ? '{}' : `${before}${id}${between}${id}${after}`)
  if (id !== undefined) answered.set(id, Date.now())
})
server.listen(0, '127.0.0.1', 1_024, () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
