import { describe, expect, it } from 'vitest'
import { hangingIndent, screenWidth, wrapText } from '../../src/cli/text/text-format.ts'

describe('a wrapped text', () => {
  it('is cut between words, never within one', () => {
    expect(wrapText('one two three', 8)).toEqual(['one two', 'three'])
    expect(wrapText('a-very-long-word b', 5)).toEqual(['a-very-long-word', 'b'])
    expect(wrapText('', 5)).toEqual([''])
  })

  it('has a hanging indent after its label', () => {
    expect(hangingIndent('disk  ', 'the disk is nearly full', 28)).toBe(
      'disk  the disk is nearly\n      full',
    )
  })

  it('has a minimum width on a narrow screen', () => {
    expect(hangingIndent('a long name  ', 'some words of text', 10)).toBe(
      'a long name  some words of text',
    )
  })

  it('is not cut if the width of the screen is unknown', () => {
    expect(screenWidth({ isTTY: false, columns: 80 })).toBe(Number.POSITIVE_INFINITY)
    expect(screenWidth({ isTTY: true, columns: 0 })).toBe(Number.POSITIVE_INFINITY)
    expect(screenWidth({ isTTY: true, columns: 80 })).toBe(80)
    expect(hangingIndent('x ', 'word '.repeat(200).trim(), Number.POSITIVE_INFINITY)).not.toContain(
      '\n',
    )
  })
})
