#include "catalog/everyday_words.h"

#include <algorithm>

#include "catalog/everyday_wishes.h"
#include "catalog/words.h"

namespace catalog {
namespace {

// Between commas: words with about the same meaning in names of tools.
constexpr std::string_view kSameWords =
    "movie film, song track music, delete remove erase, create make add, get fetch retrieve, "
    "find search lookup query, update edit modify change, send deliver, email mail inbox, message chat dm, "
    "buy purchase order shop, price cost rate quote, cheap affordable budget inexpensive, "
    "picture illustration drawing, repo repository, db database, doc document, calc calculate compute evaluate, "
    "car vehicle automobile auto, plane flight airfare airline, hotel accommodation lodging stay hostel, "
    "restaurant dining eatery, recipe dish meal cooking, translate translation, "
    "summarize summary tldr summarise digest, convert transform conversion, video clip youtube, "
    "voice speech audio spoken, transcribe transcript transcription subtitles captions, "
    "company business firm organization corporation enterprise, customer client, employee staff colleague worker, "
    "salary wage pay payroll income, job vacancy position opening career, applicant candidate, invoice bill, "
    "payment pay charge, bank account, loan mortgage credit, tax taxes vat duty, stock share equity ticker, "
    "crypto cryptocurrency bitcoin ethereum coin token, currency money exchange forex, dollar dollars usd currency, "
    "euro euros eur currency, news headline headlines article, weather forecast, "
    "temperature heating thermostat climate, humidity moisture, address location place, "
    "route directions navigation itinerary, distance far, map maps, nearby near around closest nearest, "
    "train rail railway, bus transit transport, issue bug defect, "
    "schedule appointment calendar event meeting agenda, reminder remind, task todo, note notes memo, "
    "contact contacts person, sms text, file files document, folder directory, copy duplicate clone, "
    "move relocate transfer, rename name, zip compress archive, unzip extract unpack decompress, upload put, "
    "download save, backup dump snapshot, restore recover, run execute launch start, stop end halt terminate kill, "
    "cancel abort, restart reboot, deploy deployment release rollout, build compile, function method, "
    "error failure exception fault, log logs, monitor watch track observe, alert alarm warning notification notify, "
    "server host machine, container docker, kubernetes k8s pod cluster, website site webpage page, url link, "
    "browser web, scrape crawl, screenshot capture, click press tap, type input fill enter, "
    "login signin authenticate, password passphrase credential, hacked breach leak compromised, "
    "vulnerability cve exploit, virus malware, certificate ssl tls, domain dns whois, spreadsheet sheet excel, "
    "row rows record, column field, table grid, chart graph plot diagram, slide slides presentation deck powerpoint, "
    "wiki confluence, form survey questionnaire poll, sign signature, contract agreement, "
    "merge combine join concatenate, split divide separate, crop cut trim, resize scale enlarge upscale, big large, "
    "brightness dim bright, lamp light lights bulb, color colour, background backdrop, generate produce, "
    "draw paint sketch, logo emblem brand, font typeface, game games gaming, player athlete, team club squad, "
    "match fixture game, score result, league competition tournament, odds betting bet, quiz trivia question, "
    "joke funny pun, horoscope zodiac astrology, lottery lotto, dictionary definition define meaning, "
    "grammar spelling proofread, paper papers publication study research, cite citation reference bibliography, "
    "author writer, novel book, library lending, course class lesson tutorial, student pupil, teacher instructor, "
    "essay composition, exam test, math mathematics arithmetic, equation formula, prime factor, integral integrate, "
    "derivative differentiate, average mean, statistics stats statistic, random arbitrary, unit units measurement, "
    "weight weigh mass, height tall elevation altitude, length long, speed velocity, volume capacity, "
    "molecule compound chemical, protein enzyme, gene dna genome sequence, drug medicine medication, "
    "doctor physician practitioner, disease illness condition, symptom complaint, hospital clinic, "
    "nutrition calories nutrient, exercise workout training, sleep nap, shopping grocery groceries, "
    "product item article goods, stock inventory, warehouse storage, parcel package shipment, "
    "shipping delivery postage, discount coupon promo voucher, review rating opinion feedback, gift present, "
    "advertisement ad ads advertising campaign, keyword keywords seo, hashtag trend trending popular, "
    "tweet post publish, twitter social, instagram facebook social, follower followers, comment reply, user member, "
    "password secret, key token, role permission, group team, channel room, stream streaming, "
    "cinema theater theatre, playlist album, lyrics words, tv television series, home house, apartment flat, "
    "property realty estate listing, rent lease, visa passport, holiday vacation leave, country nation, city town, "
    "population census demographic, election vote, law legal, court ruling judgment, patent invention, "
    "energy power electricity, solar photovoltaic pv, gas fuel petrol, charger charging, carbon emission co2, "
    "farm agriculture crop, soil ground, pet animal, plant plants, planet astronomy space, asteroid comet, "
    "earthquake seismic quake, sunrise sunset, air pollution, time clock timezone, birthday birth, "
    "category genre type kind, analyze analyse analysis examine inspect, compare comparison difference diff, "
    "validate verify check, recommend suggest recommendation suggestion, predict forecast prediction, "
    "detect recognize identify recognise, improve enhance optimize, schedule plan, plan planner planning, "
    "describe description explain, history past historical, live realtime, close shut, lock secure, "
    "vacuum cleaner clean, camera snapshot, printer print, qr barcode, encode encrypt, decode decrypt, "
    "hash checksum, regex pattern, json xml, commit commits, branch fork, pr pull, recall remember, "
    "picture image photo photograph pic, code script program, concert gig, band musician artist, "
    "refund reimburse return, open unlock, phone telephone mobile cell, phone call, docs documentation, "
    "synonym thesaurus, remember memory recall, ticket booking, book reserve reservation booking, ai llm, "
    "terminal shell command bash, environment env, config configuration settings preferences, "
    "auth authentication oauth, permission access role, queue topic, cron job, embedding vector, nba basketball, "
    "nfl football, soccer football, race racing motorsport, anime manga, covid coronavirus, bible scripture verse, "
    "postcode postal zip, barcode upc ean, meme gif, podcast episode, ssn passport identity, breed species, "
    "exchange swap trade, ledger bookkeeping accounting, supplier vendor, buyer customer, "
    "store shop retailer market, cart basket, dashboard panel, metric indicator kpi, outage incident downtime, "
    "latency delay, user account profile, subscribe subscription plan, unsubscribe cancel, attach attachment, "
    "label tag, archive backup, secret credential, screenshot capture, paragraph text, quote quotation saying, "
    "fact trivia, nutrient vitamin, allergy allergen, ocean sea marine, river lake water, hike trail hiking, "
    "beach coast, ski snow, camping campground, museum gallery, attraction sightseeing landmark, "
    "tour excursion activity, cruise ship vessel boat, truck lorry, bike bicycle cycling, electric ev, "
    "mechanic garage repair, warranty guarantee, lyric song, guitar chord, radio station, painting artwork art, "
    "sculpture art, fashion clothing clothes outfit, makeup cosmetics beauty, hair haircut salon, "
    "baby infant child kid, school university college, degree diploma, internship apprenticeship, "
    "donate donation charity, volunteer charity, police crime, fire wildfire, flood disaster, rate rating, "
    "sort order, filter search, count number total, top best ranking leaderboard, random shuffle";

// Between commas: words, and after the colon the subjects that a person with these words may mean.
constexpr std::string_view kHints =
    "freezing cold chilly warm hot cool degrees celsius fahrenheit heat: temperature thermostat heating weather, "
    "umbrella rain raining rainy snow snowing sunny windy storm cloudy sunscreen: weather forecast conditions, "
    "dark bright: light lamp brightness, "
    "hungry eat food dinner lunch breakfast: restaurant meal recipe food delivery, "
    "cook bake ingredients leftover fridge: recipe cooking, pizza sushi burger vegan: restaurant food, "
    "calories protein carbs fat: nutrition, drink wine beer cocktail: beverage, "
    "sick ill hurt pain headache fever cough ache: symptom health medical doctor, "
    "pill dose aspirin ibuprofen: drug medication, dentist dermatologist cardiologist: doctor appointment, "
    "drive driving walk cycling: directions route, far distance: directions distance route, "
    "taxi cab uber ride: ride transport, fly flying airport departing arriving: flight, "
    "trip travel vacation holiday visit: travel trip tourism flight hotel, "
    "sleep night nights room rooms: hotel accommodation, luggage suitcase bags: baggage, park parking: parking, "
    "package parcel arrive: shipment tracking delivery, sneakers shoes headphones laptop dress: product shopping, "
    "buy sell worth expensive cheap cost price: price, "
    "money spend spent owe expenses: payment transaction finance account, earn salary: income tax, "
    "wire: transfer payment, euros dollars pounds yen rupees francs usd eur gbp jpy inr: currency exchange convert, "
    "btc eth bitcoin ethereum dogecoin nft: crypto coin, apple tesla nvidia aapl tsla msft nasdaq: stock, "
    "shares invest investor investing dividend: stock market, listen hear sing singer band album: music song, "
    "watch movie film actor director netflix: movie streaming, youtube: video, read novel author: book, "
    "goal goals scored football soccer basketball tennis: sport match player, laugh funny bored: joke fun, "
    "dice coin flip: random roll, remind remember forget wake alarm: reminder, wake: alarm, "
    "invite attendees: event calendar, tell inform notify: message send, "
    "write reply respond answer: message email send, ring dial: call phone, "
    "slack discord teams telegram whatsapp: message channel, gmail outlook: email, text: message sms, "
    "spanish french german japanese chinese italian english russian korean: language translate, "
    "pronounce: word dictionary, mean meaning: define dictionary, spell typo typos proofread: spelling grammar, "
    "google bing internet online: search web, wikipedia: encyclopedia article, website homepage blog: web page url, "
    "press click button: element browser, pdf docx word: document, csv xlsx excel: spreadsheet table, "
    "jpg jpeg png heic webp: image, mp3 wav podcast recording: audio, mp4 avi: video, "
    "blurry pixelated resolution: image upscale enhance, watermark crop rotate: image, selfie portrait face: photo, "
    "say said speaking speaker: speech, aloud loud: speech voice, bug crash crashes broken: issue error, "
    "github gitlab: repository, push pushed merge: branch pull commit, "
    "slow performance fast: performance profile speed, down outage unreachable: status uptime, "
    "sql select rows: query database, mysql postgres postgresql sqlite mongodb redis: database, "
    "directory downloads: folder file, unzip tar: archive extract, customer complaint complains: ticket support, "
    "lead prospect deal: crm sales, hire hiring recruit applicants: job candidate, "
    "boss colleague coworker: employee, vacation leave: absence request, paid unpaid overdue: invoice payment, "
    "bill owe owes: invoice, house apartment flat bedroom bedrooms: property rent listing, "
    "neighborhood safe crime: area, school teacher homework: education, learn study learning: course education, "
    "exam test: quiz, plus minus times divided multiply add subtract sum: calculate math arithmetic, "
    "sqrt root squared cubed: math calculate, percent percentage: calculate, "
    "miles kilometers km kg pounds lbs gallons liters inches feet meters ounces: convert unit, "
    "area circumference radius triangle circle rectangle: geometry calculate, mean median deviation: statistics, "
    "curve sin cos: function plot graph, planets stars moon mars jupiter: astronomy, "
    "element atom mole: chemical chemistry, paper papers journal arxiv: research academic, "
    "lawyer attorney lawsuit: legal court, born died: biography person, population inhabitants live: census, "
    "capital flag: country, president minister: government, sunrise sunset dawn dusk: sun, "
    "smog pollen asthma: air quality, windows curtains blinds shutters: blind, "
    "garden lawn tomatoes watering: plant garden, puppy dog cat kitten: pet, christmas birthday anniversary: gift, "
    "party wedding: event, concert festival: event ticket, "
    "hashtag tweet instagram facebook tiktok linkedin: social post, brand: company, competitor competitors: market, "
    "clicks impressions conversions: campaign analytics, wifi: network, port ports: network scan, "
    "spam phishing: email security, gym run ran running jog jogging swim cycling: workout exercise activity, "
    "overweight bmi: weight, pregnant pregnancy: health, poem rhyme rhymes: poetry, hello chat talk: conversation, "
    "cloud aws azure gcp: infrastructure instance server, deploy host: hosting server, "
    "laptop phone tv: product device, postal zip: location address, "
    "born zodiac sign scorpio leo aries virgo gemini capricorn: horoscope, reddit hackernews: post news, "
    "dota pokemon minecraft fortnite valorant: game, nba nfl mlb nhl fifa: sport league, breakfast snack: food meal, "
    "beach mountain hike: travel outdoor, tourist tourists sights sightseeing museum: travel attraction, "
    "plumber electrician: service, cat dog breed: pet animal, stain laundry: cleaning, "
    "sofa couch lamp desk: furniture product, flour sugar butter chicken: ingredient recipe, "
    "vitamin protein fiber: nutrition, marathon race: running event, anxious stressed depressed: mental health, "
    "loan interest: mortgage payment, retire retirement pension: savings investment, "
    "crude oil gold silver: commodity price, fed inflation gdp unemployment: economy economic, "
    "election senator congress: government politics, tsunami hurricane tornado: weather alert, "
    "quake magnitude: earthquake, satellite orbit iss nasa: space, bird fish insect: animal species, "
    "tree flower: plant, carat diamond necklace: jewelry, logo banner poster flyer: design image, "
    "icon icons svg: design asset image, font typography: design, tune beat chords: music, "
    "translate english: language, rewrite paraphrase shorten: text writing, resume cv cover: job career, "
    "interview candidate: hiring recruitment, freelancer gig: job, tenant landlord lease: rental property, "
    "parcel dhl ups fedex usps: shipment tracking, subreddit thread: post forum, tcp udp ping traceroute: network, "
    "cpu disk ram usage load: metrics monitoring system, crash stacktrace exception: error debug log, "
    "refactor: code, merge conflict rebase: git branch, npm pip package: dependency library, "
    "api endpoint: request http, docker image: container, yaml manifest: configuration deployment, cron: schedule, "
    "backup restore: snapshot, encrypt decrypt: encryption, invoice receipt: accounting, "
    "meeting standup: calendar event, minutes agenda: meeting notes, todo chore: task, deadline due: task reminder, "
    "brainstorm mindmap: diagram idea, flowchart uml: diagram, barchart histogram: chart, "
    "correlation regression: statistics, latitude longitude coordinates gps: location geocode, "
    "restaurant cafe bar nearby: place, gas petrol: fuel station price";

std::vector<std::string> stems_of(std::string_view text, const Stemmer& stemmer) {
  std::vector<std::string> stems;
  Word word;
  for (WordReader reader(text); reader.next(word);)
    if (word.form == Word::Form::part) stems.emplace_back(stemmer.stem(word.text));
  return stems;
}

// Splits the text at spaces into words, or phrases joined by '_'. Each word is stemmed.
std::vector<std::string> phrases_of(std::string_view text, const Stemmer& stemmer) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string phrase;
    for (const auto& stem : stems_of(text.substr(0, end), stemmer)) phrase += (phrase.empty() ? "" : " ") + stem;
    if (!phrase.empty()) all.push_back(std::move(phrase));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace

EverydayWords::EverydayWords() {
  const Stemmer stemmer;
  auto each = [](std::string_view list, auto&& take) {
    while (!list.empty()) {
      const size_t end = std::min(list.find(','), list.size());
      take(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  };
  each(kSameWords, [&](std::string_view group) {
    const auto stems = stems_of(group, stemmer);
    for (const auto& word : stems)
      for (const auto& other : stems) relate(word, other, Meaning::same);
  });
  each(kHints, [&](std::string_view group) {
    const size_t colon = group.find(':');
    for (const auto& word : stems_of(group.substr(0, colon), stemmer))
      for (const auto& other : stems_of(group.substr(colon + 1), stemmer)) relate(word, other, Meaning::related);
  });
  each(kWishes, [&](std::string_view group) {
    const size_t colon = group.find(':');
    for (const auto& message : phrases_of(group.substr(0, colon), stemmer))
      for (const auto& other : stems_of(group.substr(colon + 1), stemmer)) relate(message, other, Meaning::related);
  });
}

// A relation of two words counts once: the same meaning comes before a related subject.
void EverydayWords::relate(std::string_view word, std::string_view other, Meaning meaning) {
  if (word == other) return;
  auto& all = words_[std::string(word)];
  if (std::none_of(all.begin(), all.end(), [&](const Related& item) { return item.stem == other; }))
    all.push_back({std::string(other), meaning == Meaning::related});
}

const std::vector<EverydayWords::Related>& EverydayWords::related(const std::string& stem) const {
  static const std::vector<Related> kNone;
  const auto it = words_.find(stem);
  return it == words_.end() ? kNone : it->second;
}

const EverydayWords& everyday_words() {
  static const EverydayWords words;
  return words;
}

}  // namespace catalog
