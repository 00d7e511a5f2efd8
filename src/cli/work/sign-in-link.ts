import { DEMO_RESELLER } from '../../embedded/demo.ts'
import { localUrlOf, publicUrlOf } from '../../platform/config/addresses.ts'
import { findReseller, requireReseller } from '../../resellers/resellers.ts'
import { createSignInCode, signInLink } from '../../resellers/sign-in.ts'
import { withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'

interface LinkOptions extends ProgramOptions {
  readonly reseller?: string
  readonly operator?: boolean
}

export function printLink(options: LinkOptions): Promise<void> {
  const { operator = false, reseller } = options
  return withApp({ role: 'keys', options }, async ({ database: { db }, config }, { terminal }) => {
    const isAny = !operator && reseller === undefined
    const found = isAny ? await findReseller(db, DEMO_RESELLER) : undefined
    const owner = reseller === undefined ? found : await requireReseller(db, reseller)
    const { code } = await createSignInCode(db, {
      operator: operator || isAny,
      resellerId: owner?.id ?? null,
    })
    const url = signInLink(publicUrlOf(config) ?? localUrlOf(config), code)
    terminal.print({ url }, () => url)
  })
}
