import { Type } from 'typebox'
import { object, orNull } from '../../platform/http/schemas.ts'
import { Place, Route } from '../read/route-operations.ts'
import { ListName, Reason } from '../read/sync-run-operations.ts'

const Count = Type.Integer()
const Routes = Type.Array(Route)

const members = {
  list: ListName,
  baseline: Type.Boolean(),
  bytes: Count,
  fetched: Type.Integer({ description: 'Routes in the list, duplicates included.' }),
  duplicates: Count,
  conflictingPlaces: Count,
  liveBefore: Type.Integer({
    description: 'Live routes before the list; available routes for with-availability.',
  }),
  missing: Type.Integer({ description: 'How many of these the list lacks.' }),
  newlyAbsent: Type.Integer({
    description: 'How many of the missing ones the previous accepted list had.',
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
    { description: 'The counts of the run if it were approved now.' },
  ),
  verdict: orNull(Reason, 'Why the guard would hold the list now. Null if it would not.'),
  examples: object(
    {
      missing: Routes,
      added: Routes,
      countries: Type.Array(object({ country: Type.String(), missing: Count, live: Count }), {
        description: 'The countries of departure with the most missing routes.',
      }),
      placesLost: object(
        { count: Count, places: Type.Array(Place) },
        { description: 'Places that would have no route left.' },
      ),
      placesChanged: Type.Array(object({ before: Place, after: Place })),
    },
    { description: 'A few examples of each kind. Routes are a sample, the same in each report.' },
  ),
}

/** What applying a list would do. */
export const PlanReport = object(members, { title: 'PlanReport' })
