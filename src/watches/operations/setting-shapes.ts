import { type TOptional, type TUnsafe, Type } from 'typebox'
import { Price } from '../../feeds/change-shapes.ts'
import { orNull } from '../../platform/http/schemas.ts'
import { membersOf } from '../../upstream/question-shapes.ts'
import {
  SETTING_FIELDS,
  type SettingField,
  type SettingsInput,
  type WatchSettings,
} from '../rows/settings.ts'

const FIELDS: readonly SettingField[] = SETTING_FIELDS

/** The titles of objects in settings, by their names. */
const TITLES: Readonly<Record<string, string>> = {
  intents: 'Intents',
  priceBelow: 'PriceBelow',
  priceDrop: 'PriceDrop',
  paid: 'PaidPrice',
  route: 'WatchedRoute',
}

/** A price has its amount and its currency, an intent on what was paid has that, and a route its two places. */
const isNeeded = (own: readonly SettingField[], depth: number) =>
  own.every(({ neededAt }) => neededAt !== undefined && depth >= neededAt)

type Members = { [K in keyof WatchSettings]: TUnsafe<WatchSettings[K]> }

/** The settings of a watch in an answer. An intent that it does not have is missing. */
export const SETTING_MEMBERS = membersOf(FIELDS, {
  depth: 0,
  title: (name) => TITLES[name] ?? name,
  leaf: ({ schema, path, default: absent }) => {
    const shape = Type.Unsafe<unknown>({ ...schema })
    return absent === null && path.length === 1 ? orNull(shape) : shape
  },
  group: (schema, { name, depth }) => {
    if (name === 'priceBelow' || name === 'paid') return Price
    return depth === 0 ? orNull(schema) : schema
  },
  mayLack: (own, depth) => depth > 0 && !isNeeded(own, depth),
}) as Members

type Inputs = { [K in keyof SettingsInput]-?: TOptional<TUnsafe<WatchSettings[K] | null>> }

/** The settings of a watch in a request. The schema checks the types only: a handler reports all errors at once. */
export const SETTING_INPUTS = membersOf(FIELDS, {
  depth: 0,
  title: (name) => `${TITLES[name] ?? name}Input`,
  leaf: ({ schema: { type }, about, neededAt }) =>
    neededAt !== undefined
      ? Type.Unsafe<unknown>({ type, description: about })
      : orNull(Type.Unsafe<unknown>({ type }), about),
  group: (schema) => orNull(schema),
  mayLack: (own, depth) => !isNeeded(own, depth),
}) as unknown as Inputs
