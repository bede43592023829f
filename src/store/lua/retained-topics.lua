-- Reads only.
-- Lists the topics of retained messages, a part of all at a time: the values stay here, however large.
-- KEYS[1] retained messages, as aedes-persistence-redis keeps them
-- ARGV[1] cursor, 0 to begin   ARGV[2] pattern of the topics
-- ARGV[3] steps at most, and ARGV[4] bytes at most to look at, because Redis serves nobody else meanwhile
-- returns the next cursor, 0 at the end, then for each topic its name and the bytes of its record
local cursor, bytes, found = ARGV[1], 0, {}
for _ = 1, tonumber(ARGV[3]) do
  local reply = redis.call('HSCAN', KEYS[1], cursor, 'MATCH', ARGV[2])
  local pairs = reply[2]
  cursor = reply[1]
  for at = 1, #pairs, 2 do
    found[#found + 1] = pairs[at]
    found[#found + 1] = #pairs[at + 1]
    bytes = bytes + #pairs[at + 1]
  end
  if cursor == '0' or bytes > tonumber(ARGV[4]) then break end
end
return { cursor, unpack(found) }
