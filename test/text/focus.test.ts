import t from 'tap'
import { nearestParts } from '../../src/text/focus.ts'

const passage =
  'The museum opened in 1901. It was designed by Ada Lindqvist. Its hall burned down in 1944. A tower of 60 metres was added in 1962. Entry is free.'

t.same(
  nearestParts('Which year was the tower of 60 metres added?', passage),
  ['A tower of 60 metres was added in 1962.', 'Its hall burned down in 1944. A tower of 60 metres was added in 1962. Entry is free.'],
  'the sentence that shares most words, and it with its neighbours',
)
t.same(
  nearestParts('Is entry free?', passage),
  ['Entry is free.', 'A tower of 60 metres was added in 1962. Entry is free.'],
  'a neighbour at the end of the passage',
)
t.same(nearestParts('Who built it?', 'It was built by Ada. It burned down.'), ['It was built by Ada.'], 'the whole passage is no part')
t.same(nearestParts('Who built it?', 'It was built by Ada.'), [], 'a single sentence')
t.same(nearestParts('Who built it?', ' '), [], 'no text')
t.same(nearestParts('', 'One. Two. Three.'), ['One.', 'One. Two.'], 'a question without words')
