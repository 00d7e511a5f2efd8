import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { Age } from '../times.js'

/** A reseller's own keys. An operator makes and revokes them. */
export function KeysPanel() {
  const keys = useResource(() => callApi('/own-keys').then(({ items }) => items), [])
  return html`<details class="panel"><summary>Keys</summary>
    <${Loaded} of=${keys}>${(/** @type {any[]} */ items) =>
      items.length === 0
        ? html`<p class="muted">There is none. An operator makes one with <code>bin/farewatch keys create</code>.</p>`
        : html`<ul class="plain-list">${items.map(
            ({ prefix, scopes, lastUsedAt, revokedAt, expiresAt }) => html`<li>
              <code>${prefix}…</code> ${scopes.join(', ')}
              <span class="muted">${revokedAt ? 'revoked' : expiresAt ? html`ends <${Age} at=${expiresAt} />` : html`used <${Age} at=${lastUsedAt} none="never" />`}</span>
            </li>`,
          )}</ul>`}<//>
  </details>`
}
