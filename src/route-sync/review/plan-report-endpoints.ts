import { Type } from 'typebox'
import { object, oneOf, orNull } from '../../http/schemas.ts'

const Count = Type.Integer()
const ListName = oneOf(['routes', 'with-availability'])

const Reason = object({ code: Type.String(), text: Type.String() })

const Place = object({
  id: Type.String(),
  iata: Type.String(),
  city: Type.String(),
  country: Type.String(),
})
const Routes = Type.Array(object({ departure: Place, destination: Place }))

/** What applying a list would do, as the API tells it. */
export const PlanReport = object({
  list: ListName,
  baseline: Type.Boolean(),
  bytes: Count,
  fetched: Count,
  duplicates: Count,
  conflictingPlaces: Count,
  liveBefore: Type.Integer({ description: 'Live (or available) routes before it.' }),
  missing: Type.Integer({ description: 'Of those, the ones that it lacks.' }),
  newlyAbsent: Type.Integer({
    description: 'Of those, the ones that the accepted list before it held.',
  }),
  forecast: object(
    {
      unknownPairs: orNull(Count),
      live: Count,
      added: Count,
      removed: Count,
      pendingAbsences: Count,
      placesChanged: Count,
      gained: Count,
      lost: Count,
    },
    { description: 'What a run that approved it now would count.' },
  ),
  verdict: orNull(Reason, 'Why the guard would hold it now; null where it would not.'),
  examples: object(
    {
      missing: Routes,
      added: Routes,
      countries: Type.Array(object({ country: Type.String(), missing: Count, live: Count }), {
        description: 'Countries of departure that lack most routes.',
      }),
      placesLost: object(
        { count: Count, places: Type.Array(Place) },
        { description: 'Places without any route left.' },
      ),
      placesChanged: Type.Array(object({ before: Place, after: Place })),
    },
    { description: 'A few of each kind.' },
  ),
})

/** A plan as the documentation shows it. */
export const EXAMPLE_PLAN = {
  list: 'routes',
  baseline: false,
  bytes: 3_800_000,
  fetched: 26_000,
  duplicates: 0,
  conflictingPlaces: 0,
  liveBefore: 37_000,
  missing: 11_000,
  newlyAbsent: 11_000,
  forecast: {
    unknownPairs: null,
    live: 26_000,
    added: 0,
    removed: 11_000,
    pendingAbsences: 0,
    placesChanged: 0,
    gained: 0,
    lost: 0,
  },
  verdict: {
    code: 'mass_absence',
    text: '11,000 of 37,000 routes are missing at once (29.7 %, limit 15 %)',
  },
  examples: {
    missing: [
      {
        departure: { id: '1', iata: 'PMI', city: 'Palma', country: 'Spain' },
        destination: { id: '2', iata: 'MAD', city: 'Madrid', country: 'Spain' },
      },
    ],
    added: [],
    countries: [{ country: 'Spain', missing: 10_400, live: 10_400 }],
    placesLost: {
      count: 41,
      places: [{ id: '1', iata: 'PMI', city: 'Palma', country: 'Spain' }],
    },
    placesChanged: [],
  },
}
