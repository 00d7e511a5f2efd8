/**
 * @import { Change } from './answers.ts'
 * @import { Resource } from './hooks.js'
 * @import { Subject } from './describe.js'
 * @import { Place } from './map/network.js'
 *
 * @typedef {Change & { subject: Subject }} Described a record with what it is about
 */
import { feedOf, subjectOf } from './describe.js'
import { useResource } from './hooks.js'
import { readPlaces } from './map/network.js'
import { callApi, caller } from './session.js'

const EVERY_MS = 30_000

/**
 * The last records of each feed, newest first, each with what it is about: those of all routes and fares, or the
 * reseller's own.
 * @param {number} count
 * @returns {Resource<Described[]>}
 */
export function useChanges(count) {
  return useResource(
    async () => {
      const [places, ...read] = await Promise.all([
        readPlaces(),
        ...feedsOfCaller().map((path) => readLast(path, count)),
      ])
      const changes = read.flat()
      changes.sort((a, b) => Date.parse(b.recordedAt) - Date.parse(a.recordedAt) || b.seq - a.seq)
      return withSubjects(changes, places)
    },
    [],
    { everyMs: EVERY_MS },
  )
}

function feedsOfCaller() {
  return caller.isOperator
    ? /** @type {const} */ (['/route-changes', '/availability-changes'])
    : /** @type {const} */ (['/watch-changes'])
}

/** The last records of a feed, oldest first. @param {ReturnType<typeof feedsOfCaller>[number]} path @param {number} count @returns {Promise<readonly Change[]>} */
async function readLast(path, count) {
  const { first, head } = await callApi(`${path}?limit=1`)
  const after = Math.max(first - 1, head - count)
  const { items } = await callApi(`${path}?after=${after}&limit=${count}`)
  return items
}

/** A record has one key, wherever it came from. @param {Change} change */
export function keyOf(change) {
  return `${feedOf(change)} ${change.seq}`
}

/**
 * Adds to each record what it is about, with the names of its places.
 * @param {readonly Change[]} changes
 * @param {Map<string, Place>} places
 * @returns {Described[]}
 */
export function withSubjects(changes, places) {
  const codeOf = (/** @type {string} */ id) => places.get(id)?.iata || id
  const cityOf = (/** @type {string} */ id) => places.get(id)?.city ?? ''
  const subjectOfChange = (/** @type {Change} */ change) => {
    const { departureId: from, destinationId: to, placeId } = change
    if (from && to) {
      const detail = `${cityOf(from)} – ${cityOf(to)}`
      return { title: `${codeOf(from)} → ${codeOf(to)}`, detail }
    }
    return placeId ? { title: codeOf(placeId), detail: cityOf(placeId) } : subjectOf(change)
  }
  return changes.map((change) => ({ ...change, subject: subjectOfChange(change) }))
}
