import { useMemo } from 'preact/hooks'

/**
 * The routes of a map with the places at their ends. Routes between places whose position is not known are left out.
 * @typedef {import('./network.js').Pair} Pair
 * @typedef {import('./network.js').MapPlace} MapPlace
 * @typedef {{ from: MapPlace, to: MapPlace }} Line
 * @typedef {{ steady: Line[], added: Line[], removed: Line[], focused: Line[], focusPlaces: MapPlace[], places: MapPlace[], addedPlaces: MapPlace[] }} Lines
 */

/**
 * @param {Map<string, import('./network.js').Place> | undefined} places
 * @param {{ steady: readonly Pair[], added: readonly Pair[], removed: readonly Pair[], focus: string | undefined }} pairs
 * @returns {Lines}
 */
export function useLines(places, { steady, added, removed, focus }) {
  // The many that stay must not be computed again while the few that change do.
  const still = useMemo(() => linesOf(places, steady), [places, steady])
  return useMemo(() => {
    const more = linesOf(places, added)
    const near =
      focus === undefined ? [] : [...steady, ...added].filter((pair) => pair.includes(focus))
    return {
      steady: still.lines,
      places: still.ends,
      added: more.lines,
      addedPlaces: more.ends,
      removed: linesOf(places, removed).lines,
      focused: linesOf(places, near).lines,
      focusPlaces: focus === undefined ? [] : [places?.get(focus)].filter(isLocated),
    }
  }, [still, places, added, removed, focus])
}

/** @param {import('./network.js').Place | undefined} place @returns {place is MapPlace} */
function isLocated(place) {
  return place?.latitude != null
}

/** @param {Map<string, import('./network.js').Place> | undefined} places @param {readonly Pair[]} pairs */
function linesOf(places, pairs) {
  const ends = new Set()
  const lines = pairs.flatMap(([a, b]) => {
    const from = places?.get(a)
    const to = places?.get(b)
    if (!isLocated(from) || !isLocated(to)) return []
    ends.add(from).add(to)
    return [{ from, to }]
  })
  return { lines, ends: /** @type {MapPlace[]} */ ([...ends]) }
}
