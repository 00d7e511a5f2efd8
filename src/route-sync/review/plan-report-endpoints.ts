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
