import { useState } from 'preact/hooks'
import { useSize } from './hooks.js'
import { html } from './html.js'

const OVERSCAN = 8

/**
 * A list that renders only the rows in view, so that ten thousand rows scroll like ten.
 * @template T
 * @param {{ items: readonly T[], rowHeight: number, label: string, render: (item: T, index: number) => unknown,
 *   onVisible?: (from: number, to: number) => void }} props
 */
export function VirtualList({ items, rowHeight, label, render, onVisible }) {
  const [ref, { height }] = useSize()
  const [top, setTop] = useState(0)
  const from = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN)
  const to = Math.min(items.length, Math.ceil((top + height) / rowHeight) + OVERSCAN)
  onVisible?.(from, to)
  return html`<div class="virtual" ref=${ref} tabindex="0" role="list" aria-label=${label}
    onScroll=${(/** @type {{ currentTarget: HTMLElement }} */ event) => setTop(event.currentTarget.scrollTop)}>
    <div style=${{ height: `${items.length * rowHeight}px`, position: 'relative' }}>
      ${items.slice(from, to).map(
        (item, i) => html`
        <div role="listitem" aria-setsize=${items.length} aria-posinset=${from + i + 1} key=${from + i}
          style=${{ position: 'absolute', insetInline: 0, top: `${(from + i) * rowHeight}px`, height: `${rowHeight}px` }}>
          ${render(item, from + i)}
        </div>`,
      )}
    </div>
  </div>`
}
