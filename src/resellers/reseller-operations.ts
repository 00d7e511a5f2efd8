import { type Static, type TSchema, Type } from 'typebox'
import type { Logger } from '../platform/base/logger.ts'
import { recordOperation } from '../platform/db/audit.ts'
import type { Db } from '../platform/db/database.ts'
import { logOperation, operations } from '../platform/http/operation.ts'
import { cursorsOf, PAGED, pageOf } from '../platform/http/pages.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, object, orNull } from '../platform/http/schemas.ts'
import {
  changeReseller,
  createReseller,
  listResellers,
  lockReseller,
  requireReseller,
  SHARE_RANGE,
} from './resellers.ts'

interface ResellerDeps {
  readonly db: Db
  readonly log: Logger
  /** Stops the watches of a reseller. A dependency, because watches/ lies on a higher floor. */
  readonly disableReseller: (
    db: Db,
    resellerId: number,
  ) => Promise<{ readonly trackedFaresEnded: number }>
  /** Lets them begin again. */
  readonly enableReseller: (db: Db, resellerId: number) => Promise<unknown>
  readonly countContents: (db: Db, resellerId: number) => Promise<Static<typeof Contents>>
  readonly markForDeletion: (db: Db, resellerId: number) => Promise<void>
}

const Contents = object(
  {
    keys: Type.Integer(),
    endpoints: Type.Integer(),
    deliveries: Type.Integer(),
    records: Type.Integer({ description: 'The records of its feed.' }),
    lists: Type.Integer(),
    watches: Type.Integer(),
  },
  { title: 'ResellerContents' },
)

const { operator, reseller } = operations<ResellerDeps>()

const MAX_NAME_CHARS = 200
const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARS })

const Share = Type.Number({
  minimum: SHARE_RANGE.min,
  maximum: SHARE_RANGE.max,
  description:
    'Its share of the checks, against the shares of the other resellers that have fares due. 1 unless it is set.',
})

const MAX_CHOSEN = 500
const Code = Type.String({ pattern: '^[A-Z0-9]{3}$', description: 'An IATA code: `PMI`.' })
const chosen = <T extends TSchema>(item: T, description: string) =>
  Type.Optional(Type.Array(item, { minItems: 1, maxItems: MAX_CHOSEN, description }))

const Routes = orNull(
  object(
    {
      countries: chosen(
        Type.String({ minLength: 1, maxLength: 200 }),
        'Routes from or to one of them, and their places. Their names as the lists write them.',
      ),
      places: chosen(Code, 'Routes from or to one of them, and these places.'),
      pairs: chosen(
        object({
          departure: Code,
          destination: Code,
          eitherDirection: Type.Optional(Type.Boolean({ description: 'The route back too.' })),
        }),
        'These routes, and their places.',
      ),
    },
    { minProperties: 1, title: 'ChosenRoutes' },
  ),
  'Which changes of routes the feed has. Null: none but those of watches of routes.',
)

const members = {
  id: Type.Integer(),
  name: Type.String(),
  createdAt: Instant,
  disabledAt: orNull(Instant),
  share: Share,
  routes: Routes,
}
const Reseller = object(members, { title: 'Reseller' })
const Summary = object({
  ...members,
  lists: Type.Integer({ description: 'The number of its watch lists.' }),
  watches: Type.Integer(),
  active: Type.Integer({
    description: 'How many of the watches are neither paused nor ended.',
  }),
})

/** What an operator has changed of a reseller. */
function changeOf(name: string, what: string) {
  return { action: `reseller ${what}`, target: name, reseller: name }
}

const cursors = cursorsOf('resellers', Name, ({ name }: { name: string }) => name)
const common = { tag: 'Operators', scope: 'operate' } as const

const listAll = operator({
  ...common,
  id: 'listResellers',
  method: 'GET',
  path: '/api/v1/resellers',
  summary: 'List the resellers by name',
  ...PAGED,
  answer: { about: 'A page of resellers.', schema: pageOf(Summary) },
  handler: ({ db }, { query }) => cursors.page(query, (page) => listResellers(db, page)),
})

const create = operator({
  ...common,
  id: 'createReseller',
  method: 'POST',
  path: '/api/v1/resellers',
  repeatable: true,
  summary: 'Create a reseller',
  body: object({ name: Name }),
  answer: {
    about: 'The reseller. It has no key yet.',
    status: 201,
    schema: Reseller,
    location: '/api/v1/resellers/{name}',
  },
  problems: ['resellers.duplicate', 'resellers.invalid_name'],
  example: { body: { name: 'northwind' } },
  handler: async (deps, { body: { name }, ...checked }) => {
    const created = await createReseller(deps.db, name)
    await recordOperation(deps, checked, changeOf(name, 'created'))
    return created
  },
})

const one = {
  ...common,
  path: '/api/v1/resellers/{reseller}',
  params: object({ reseller: Name }),
  problems: ['not_found'],
  example: { params: { reseller: 'beta' } },
} as const

const read = operator({
  ...one,
  id: 'readReseller',
  method: 'GET',
  summary: 'Read a reseller',
  answer: { about: 'The reseller.', schema: Reseller },
  handler: ({ db }, { params }) => requireReseller(db, params.reseller),
})

const change = operator({
  ...one,
  id: 'updateReseller',
  method: 'PATCH',
  summary: 'Change the settings of a reseller',
  description:
    'Changes the given members and leaves the others. The next checks are divided by the new share: what one reseller leaves unused goes to the others. The next lists follow the new routes.',
  lock: ({ db }, { params }) => lockReseller(db, params.reseller),
  body: object(
    { share: Type.Optional(Share), routes: Type.Optional(Routes) },
    { minProperties: 1 },
  ),
  answer: { about: 'The reseller with its new settings.', schema: Reseller },
  example: { params: { reseller: 'beta' }, body: { share: 2 } },
  handler: async (deps, { params: { reseller: name }, body, ...checked }) => {
    const changed = await changeReseller(deps.db, name, body)
    const target = `${name} ${JSON.stringify(body)}`
    await recordOperation(deps, checked, { ...changeOf(name, 'changed'), target, ...body })
    return changed
  },
})

const Settings = object({ routes: Routes }, { title: 'ResellerSettings' })
const own = { tag: 'Changes', path: '/api/v1/own-settings' } as const

const readOwn = reseller({
  ...own,
  id: 'readOwnSettings',
  method: 'GET',
  summary: 'Read which changes of routes your feed has',
  scope: 'read',
  answer: { about: 'Your settings.', schema: Settings },
  handler: async ({ db, resellerName }) => {
    const { routes } = await requireReseller(db, resellerName)
    return { routes }
  },
})

const changeOwn = reseller({
  ...own,
  id: 'updateOwnSettings',
  method: 'PATCH',
  lock: ({ db, resellerName }) => lockReseller(db, resellerName),
  summary: 'Choose which changes of routes your feed has',
  description:
    'From the next list on, your feed has the changes that one of the members chooses. An endpoint takes them if its `kinds` name them.',
  scope: 'watch',
  body: Settings,
  answer: { about: 'Your settings.', schema: Settings },
  example: {
    body: {
      routes: {
        countries: ['Norway'],
        pairs: [{ departure: 'PMI', destination: 'OSL', eitherDirection: true }],
      },
    },
  },
  handler: async ({ db, log, resellerName }, { body, caller, request }) => {
    const { routes } = await changeReseller(db, resellerName, body)
    logOperation(log, { caller, request }, { event: 'settings changed', ...body })
    return { routes }
  },
})

/** The operations with which a reseller sets what its feed has. */
export const SETTING_OPERATIONS = [readOwn, changeOwn]

const disable = operator({
  ...one,
  id: 'disableReseller',
  method: 'POST',
  path: `${one.path}/disable`,
  summary: 'Disable a reseller and stop all its watches',
  description:
    'The watches stop as if each were paused. Watch lists, feed and keys stay. Disabling it a second time changes nothing.',
  answer: {
    about: 'The reseller, and the number of tracked fares that no longer have an active watch.',
    schema: object({ ...members, trackedFaresEnded: Type.Integer() }),
  },
  handler: async (deps, { params: { reseller: name }, ...checked }) => {
    const { db } = deps
    const { id } = await requireReseller(db, name)
    const { trackedFaresEnded } = await deps.disableReseller(db, id)
    await recordOperation(deps, checked, changeOf(name, 'disabled'))
    return { ...(await requireReseller(db, name)), trackedFaresEnded }
  },
})

const enable = operator({
  ...one,
  id: 'enableReseller',
  method: 'POST',
  path: `${one.path}/enable`,
  summary: 'Enable a disabled reseller: its watches begin again',
  description:
    'Its watches that are neither paused nor ended begin again, as if each were resumed. Enabling it a second time changes nothing. ' +
    'A reseller that is being deleted stays disabled.',
  answer: { about: 'The reseller.', schema: Reseller },
  handler: async (deps, { params: { reseller: name }, ...checked }) => {
    const { id } = await requireReseller(deps.db, name)
    await deps.enableReseller(deps.db, id)
    await recordOperation(deps, checked, changeOf(name, 'enabled'))
    return requireReseller(deps.db, name)
  },
})

const remove = operator({
  ...one,
  id: 'deleteReseller',
  method: 'POST',
  path: `${one.path}/delete`,
  summary: 'Delete a reseller with all that it has, or count it',
  description:
    'Its keys, streams, watches and deliveries end at once. A worker deletes the rest in batches, and the name is free when all is gone. Fares that others watch, and the history of all fares, stay. Nothing is deleted without `confirm`.',
  body: object({
    confirm: orNull(Name, 'The name of the reseller again. Null: nothing is deleted.'),
  }),
  answer: {
    about: 'What it has, in rows, before the deletion.',
    schema: object({ reseller: Name, deleting: Type.Boolean(), contents: Contents }),
  },
  example: { params: { reseller: 'beta' }, body: { confirm: null } },
  handler: async (deps, { params: { reseller: name }, body: { confirm }, ...checked }) => {
    const { db } = deps
    const { id } = await requireReseller(db, name)
    if (confirm !== null && confirm !== name) {
      throw new ProblemError('request.invalid_body', {
        pointer: '/confirm',
        detail: 'must be the name of the reseller, or null',
      })
    }
    const contents = await deps.countContents(db, id)
    if (confirm !== null) {
      await deps.markForDeletion(db, id)
      await recordOperation(deps, checked, { ...contents, ...changeOf(name, 'deleted') })
    }
    return { reseller: name, deleting: confirm !== null, contents }
  },
})

/** The endpoints with which operators manage resellers. */
export const RESELLER_OPERATIONS = [listAll, create, read, change, disable, enable, remove]
