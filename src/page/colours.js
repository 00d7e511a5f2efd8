import { useEffect, useState } from 'preact/hooks'

/** The custom properties of styles/base.css that scripts draw with. */
const DRAWN = [
  'map-land',
  'map-coast',
  'map-live',
  'map-added',
  'map-removed',
  'map-place',
  'map-focus',
]

// Without a registered syntax, the value of a property is the text `light-dark(…)` and not a colour.
for (const name of DRAWN) {
  CSS.registerProperty({
    name: `--${name}`,
    syntax: '<color>',
    inherits: true,
    initialValue: 'gray',
  })
}

/**
 * A colour of the style sheet as a canvas takes it.
 * @param {HTMLElement} element
 * @param {string} name without the dashes
 */
export function colourOf(element, name) {
  return getComputedStyle(element).getPropertyValue(`--${name}`).trim()
}

/** Whether the reader prefers dark colours: what is drawn must be drawn again when it changes. */
export function useDark() {
  const [dark, setDark] = useState(matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const update = () => setDark(query.matches)
    query.addEventListener('change', update)
    return () => query.removeEventListener('change', update)
  }, [])
  return dark
}
