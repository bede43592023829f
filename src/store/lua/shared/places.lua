-- The place in an alarm's record, nil for a damaged one.
-- Names and custom data may hold half of a surrogate pair, which is JSON and which cjson rejects. Only ids are read here.
local function placeOf(text)
  local isJson, place = pcall(cjson.decode, (string.gsub(text or '', '\\u[dD][89a-fA-F]%x%x', '\\ufffd')))
  local isPlace = isJson and type(place) == 'table' and type(place.location) == 'table' and type(place.device) == 'table'
  return isPlace and place or nil
end

-- The id of the place's group, '' for none.
local function groupOf(place)
  return place.group ~= cjson.null and place.group.id or ''
end
