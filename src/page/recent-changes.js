/**
 * @import { Change } from './answers.ts'
 * @import { Resource } from './hooks.js'
 * @import { Feed } from './live.js'
 * @import { Subject } from './describe.js'
 * @import { Place } from './map/network.js'
 *
 * @typedef {Change & { subject: Subject }} Described a record with what it is about
 */
import { useState } from 'preact/hooks'
import { feedOf, subjectOf } from './describe.js'
import { useResource } from './hooks.js'
import { OPERATOR_FEEDS, useEvents } from './live.js'
import { readPlaces } from './map/network.js'
import { callApi } from './session.js'

/**
 * The last records, newest first, each with what it is about: those of all routes and fares, or the reseller's own.
 * New ones are added while the view is open.
 * @param {{ isOperator: boolean }} caller
 * @param {{ shown: number, earlier: number }} limits `earlier`: how many records of each feed are read at first
 * @returns {Resource<Described[]>}
 */
export function useChanges({ isOperator }, { shown, earlier }) {
  const read = useResource(() => readEarlier(isOperator, earlier), [isOperator])
  const [live, setLive] = useState(/** @type {Change[]} */ ([]))
  const places = useResource(readPlaces, [])
  useEvents(({ data }) => {
    if (typeof data?.kind !== 'string' || data.recordedAt === undefined) return
    setLive((last) => [data, ...last].slice(0, shown))
  }, [])
  const data = read.data && withSubjects(merged(live, read.data, shown), places.data)
  return { ...read, data }
}

/** @type {Feed[]} */
const OWN_FEED = ['/watch-changes']

/** @param {boolean} isOperator @param {number} count @returns {Promise<Change[]>} */
async function readEarlier(isOperator, count) {
  const paths = isOperator ? OPERATOR_FEEDS : OWN_FEED
  return (await Promise.all(paths.map((path) => readLast(path, count)))).flat()
}

/** The last records of a feed, oldest first. @param {Feed} path @param {number} count */
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

/** @param {Change[]} live @param {Change[]} earlier @param {number} shown */
function merged(live, earlier, shown) {
  const byKey = new Map([...earlier, ...live].map((change) => [keyOf(change), change]))
  return [...byKey.values()]
    .sort((a, b) => Date.parse(b.recordedAt) - Date.parse(a.recordedAt) || b.seq - a.seq)
    .slice(0, shown)
}

/**
 * Adds to each record what it is about, with the names of its places.
 * @param {readonly Change[]} changes
 * @param {Map<string, Place> | undefined} places
 * @returns {Described[]}
 */
export function withSubjects(changes, places) {
  const codeOf = (/** @type {string} */ id) => places?.get(id)?.iata || id
  const cityOf = (/** @type {string} */ id) => places?.get(id)?.city ?? ''
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
